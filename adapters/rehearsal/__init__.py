"""The rehearsed model: an HTTP server on localhost that speaks the Anthropic Messages API.

It serves `headway demo` without a key, and every test that needs a model. It plays a *script*
(`script.py`) and is as strict as the real one (`validate.py`), so that what works here works
there. It generates nothing: every reply was written beforehand.
"""
