"""Local servers that speak the model providers' APIs over real HTTP: strict about what they are sent, faulty on order."""
