"""testing owns the public fakes: virtual time, scripted tools and models, recorders, the store suite."""
