"""Real servers that tests start: databases, proxies, gateways."""
