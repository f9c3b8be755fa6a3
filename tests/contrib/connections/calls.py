"""A connection with its far end, which calls it as the system does."""

import json

from verification.contrib.connections import connections
from verification.models import Message


class Connected:
    def __init__(self, client, project, far, *, channel="", **options):
        self.client, self.project, self.far = client, project, far
        self.row, self.secret = connections.add_connection(
            project=project.row, system=far.system, channel=channel, options={**far.options, **options}
        )
        self.path = f"/connect/{self.row.public_id}"

    def call(self, secret=None, **content):
        return self.post(self.far.call(secret or self.secret, **content))

    def post(self, sent, **headers):
        response = self.client.post(
            self.path, sent.body, content_type=sent.content_type, headers={**sent.headers, **headers}
        )
        response.data = json.loads(response.content) if response["Content-Type"] == "application/json" else None
        return response

    @property
    def message(self):
        return Message.objects.get(connection=self.row)

    def message_subnets(self):
        return set(Message.objects.filter(connection=self.row).values_list("subnet", flat=True))
