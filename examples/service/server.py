"""A small service: orders in memory. Usage: server.py FOLDER, with the token in TOKEN.

It listens on a free port of this machine and writes `port` and `pid` into FOLDER.
"""

import json
import os
import pathlib
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

TOKEN = os.environ["TOKEN"]
ORDERS = {}


class Orders(BaseHTTPRequestHandler):
    def answer(self, status, body):
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        if self.path == "/health":
            self.answer(200, {"status": "up", "orders": len(ORDERS)})
        elif (order := ORDERS.get(self.path.removeprefix("/orders/"))) is not None:
            self.answer(200, order)
        else:
            self.answer(404, {"error": "there is no such order"})

    def do_POST(self):
        if self.headers.get("Authorization") != f"Bearer {TOKEN}":
            self.answer(401, {"error": "the token is wrong"})
            return
        order = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        order["id"] = str(len(ORDERS) + 1)
        ORDERS[order["id"]] = order
        self.answer(201, order)


def main():
    folder = pathlib.Path(sys.argv[1])
    server = ThreadingHTTPServer(("127.0.0.1", 0), Orders)
    (folder / "pid").write_text(str(os.getpid()))
    (folder / "port.new").write_text(str(server.server_port))
    (folder / "port.new").rename(folder / "port")
    server.serve_forever()


main()
