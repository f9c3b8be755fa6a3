"""A security key made of software: it answers what a browser would be asked, as WebAuthn says."""

import hashlib
import json
import struct

import cbor2
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from webauthn.helpers import bytes_to_base64url

PRESENT, VERIFIED, WITH_KEY = 0x01, 0x04, 0x40


class Authenticator:
    def __init__(self, identity=b"a key of sixteen", *, origin="http://testserver", count=0):
        self.identity, self.origin, self.count = identity, origin, count
        self.private = ec.generate_private_key(ec.SECP256R1())

    def create(self, options, **changed):
        """The answer to ``navigator.credentials.create``. ``changed`` replaces members of what the browser signs."""
        point = self.private.public_key().public_numbers()
        key = cbor2.dumps({1: 2, 3: -7, -1: 1, -2: point.x.to_bytes(32, "big"), -3: point.y.to_bytes(32, "big")})
        attested = bytes(16) + struct.pack(">H", len(self.identity)) + self.identity + key
        data = self._data(options["rp"]["id"], PRESENT | VERIFIED | WITH_KEY) + attested
        attestation = cbor2.dumps({"fmt": "none", "attStmt": {}, "authData": data})
        return self._answer(
            clientDataJSON=self._said("webauthn.create", options, changed), attestationObject=attestation
        )

    def sign(self, options, *, flags=PRESENT, **changed):
        """The answer to ``navigator.credentials.get``."""
        said = self._said("webauthn.get", options, changed)
        data = self._data(options["rpId"], flags)
        signature = self.private.sign(data + hashlib.sha256(said).digest(), ec.ECDSA(SHA256()))
        return self._answer(clientDataJSON=said, authenticatorData=data, signature=signature)

    def _data(self, host, flags):
        return hashlib.sha256(host.encode()).digest() + bytes([flags]) + struct.pack(">I", self.count)

    def _said(self, kind, options, changed):
        said = {"type": kind, "challenge": options["challenge"], "origin": self.origin, "crossOrigin": False}
        return json.dumps(said | changed).encode()

    def _answer(self, **response):
        identity = bytes_to_base64url(self.identity)
        members = {name: bytes_to_base64url(value) for name, value in response.items()}
        return json.dumps({"id": identity, "rawId": identity, "type": "public-key", "response": members})
