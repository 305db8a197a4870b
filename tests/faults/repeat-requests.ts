import { connect } from 'node:net';

/**
 * A program: opens connections to a port of loopback, and sends a request on each, again as soon as it is answered: the
 * demo client's token request, or GET with a path. Prints how often each status was answered, as JSON, ten times a
 * second. A process of its own keeps up with the service.
 *
 * Usage: repeat-requests.ts PORT CONNECTIONS [PATH]
 */
const [port = 0, connections = 0] = process.argv.slice(2, 4).map(Number);
const [path] = process.argv.slice(4);
const body = 'grant_type=client_credentials&client_id=demo-client&client_secret=demo-secret';
const tokenRequest =
  'POST /oauth2/token HTTP/1.1\r\nHost: x\r\nContent-Type: application/x-www-form-urlencoded\r\n' +
  `Content-Length: ${body.length}\r\n\r\n${body}`;
const request = Buffer.from(path === undefined ? tokenRequest : `GET ${path} HTTP/1.1\r\nHost: x\r\n\r\n`);
const answers: Record<string, number> = {};

function open(): void {
  const socket = connect(port, '127.0.0.1', () => socket.write(request));
  // An error is always followed by 'close'.
  socket.on('error', () => {});
  socket.on('close', () => setTimeout(open, 50));
  socket.on('data', (received) => {
    const [, status] = /^HTTP\/1\.1 (\d{3})/.exec(received.toString('latin1', 0, 12)) ?? [];
    if (status === undefined) return;
    answers[status] = (answers[status] ?? 0) + 1;
    socket.write(request);
  });
}

for (let opened = 0; opened < connections; opened += 1) open();
setInterval(() => process.stdout.write(`${JSON.stringify(answers)}\n`), 100);
