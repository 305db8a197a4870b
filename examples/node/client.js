const { ISSUER, CLIENT_ID, CLIENT_SECRET, API_URL } = process.env;

async function requestToken() {
  const response = await fetch(`${ISSUER}/oauth2/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: 'client_credentials',
      client_id: CLIENT_ID,
      client_secret: CLIENT_SECRET,
    }),
    signal: AbortSignal.timeout(10_000),
  });
  const { access_token, expires_in, error } = await response.json();
  if (!response.ok) throw new Error(`no token: ${response.status} ${error}`);
  return { token: access_token, renewAt: Date.now() + (expires_in - 30) * 1_000 };
}

let current = { renewAt: 0 };
let next;

/** All calls share a token until shortly before it expires, and then the request for the next one. */
async function accessToken() {
  if (current.renewAt <= Date.now()) {
    next ??= requestToken().finally(() => {
      next = undefined;
    });
    current = await next;
  }
  return current.token;
}

const response = await fetch(API_URL, { headers: { Authorization: `Bearer ${await accessToken()}` } });
console.log(response.status, await response.text());
