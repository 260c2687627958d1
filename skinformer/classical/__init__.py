"""Classical forecasters of short series and panels, judged by each series' own end."""
