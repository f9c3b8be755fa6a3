"""The panel's lists on a month of traffic."""
