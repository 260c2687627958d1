"""Files of fitted models: plain trees and arrays, written whole, read without running code."""
