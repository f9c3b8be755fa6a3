"""The paths of Twilio Verify v2, for servers that were written for Twilio: a thin face of the session services."""
