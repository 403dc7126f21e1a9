"""adapters owns: the call path under somebody else's protocol or framework; each one converts in, runs, converts out."""
