"""clients owns one file per way to reach a model: official SDKs, a function, and several clients in a row."""
