import {
  badRequest,
  closing,
  FORM,
  type HostileRequest,
  invalidClient,
  keeping,
  LOCATION,
  MALFORMED,
  notAllowed,
  request,
  SMUGGLED,
  TOKEN,
  tokenRequest,
  UNAUTHORIZED,
} from './hostile-request.ts';

const GOOD = tokenRequest([`Content-Length: ${FORM.length}`], FORM);
const EMPTY = tokenRequest(['Content-Length: 0']);
const WRONG = FORM.replace('good-secret', 'wrong-secret').replace('good-client', 'wronged-client');
const GUESS = tokenRequest([`Content-Length: ${WRONG.length}`], WRONG);

/**
 * Requests on one connection that are sent before the first response: of two, the first is answered and the last; of
 * more, none.
 */
export const PIPELINES: readonly HostileRequest[] = [
  closing('two good requests', GOOD + GOOD, TOKEN),
  closing('three good requests', GOOD.repeat(3)),
  closing('15 good requests', GOOD.repeat(15)),
  closing('a refused request before a good one', EMPTY + GOOD, badRequest('grant_type_missing')),
  closing('a guess before a good request', GUESS + GOOD, invalidClient('secret_wrong')),
  closing('guesses around a good request', GUESS + GOOD + GUESS),
  closing('HEAD before a good request', request('HEAD /oauth2/token HTTP/1.1', ['Host: x']) + GOOD, {
    ...notAllowed('POST'),
    isHead: true,
  }),
  closing('a request for the resource behind one for a token, which lends it nothing', GOOD + SMUGGLED, TOKEN),
  keeping('a request of which each byte is its own write', [...GOOD], TOKEN),
  closing(
    'two requests that are split within a line',
    [GOOD.slice(0, 20), GOOD.slice(20) + GOOD.slice(0, -5), GOOD.slice(-5)],
    TOKEN,
  ),
  closing('garbage behind a good request', `${GOOD}GARBAGE\r\n\r\n`, TOKEN),
  closing(
    'a request behind one that closes the connection',
    request(`GET ${LOCATION} HTTP/1.1`, ['Host: x', 'Connection: close']) + GOOD,
    UNAUTHORIZED,
  ),
  closing('a request behind one without a Host', request('GET / HTTP/1.1') + GOOD, badRequest('host_malformed')),
  closing('a request behind a broken one', `BREW / HTTP/1.1\r\nHost: x\r\n\r\n${GOOD}`, MALFORMED),
  closing('a request behind one of HTTP/1.0', request('GET / HTTP/1.0') + GOOD, UNAUTHORIZED),
  closing(
    'a request behind one that expects a response before its body',
    tokenRequest(['Content-Length: 16385', 'Expect: 100-continue']) + GOOD,
    { status: 413, error: 'invalid_request', reason: 'content_too_large' },
  ),
];
