"""Parts of vLLM servers whose trouble is known: see unseen.py."""

import hashlib


async def sign(request, call_next):
    """A middleware that checks each request's key: `vllm serve --middleware vllmmore.sign`."""
    hashlib.pbkdf2_hmac("sha256", b"key", b"salt", 700_000)  # the cause of vllm-middleware
    return await call_next(request)
