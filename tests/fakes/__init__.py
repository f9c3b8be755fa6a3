"""Stand-ins for what lies outside: gateways, mail servers, stores."""
