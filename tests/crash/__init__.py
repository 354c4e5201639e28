"""The process killed between every two durable steps, and what must be true after."""
