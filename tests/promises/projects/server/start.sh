# A greeter behind HTTP in Python, which greets in small letters; the check asks for capitals.
cat >serve.py <<'EOF'
import http.server
import sys


class Greeter(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"hello, ada!")


http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Greeter).serve_forever()
EOF
cat >ask.py <<'EOF'
import sys
import urllib.request

print(urllib.request.urlopen("http://127.0.0.1:" + sys.argv[1], timeout=2).read().decode())
EOF
