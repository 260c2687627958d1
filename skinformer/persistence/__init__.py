"""Files of fitted models: plain trees and arrays, written whole, read without running code."""

from skinformer.persistence.atomic import replacing
from skinformer.persistence.codec import Codec, Kind, record_kinds, record_types
from skinformer.persistence.container import Content, read_content, write_content
from skinformer.persistence.errors import ModelFileError, NotPlainError
from skinformer.persistence.labels import LABEL_KINDS

__all__ = [
    "LABEL_KINDS",
    "Codec",
    "Content",
    "Kind",
    "ModelFileError",
    "NotPlainError",
    "read_content",
    "record_kinds",
    "record_types",
    "replacing",
    "write_content",
]
