"""What no forecast may be: found once of a history, and applied wherever forecasts are made."""
