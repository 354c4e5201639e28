"""The proxy between sandboxes and the network; port `bot.ports.gateway`."""
