import { createServer, type RequestListener } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { inspectBaseUrl } from '../../../../adapters/http-client/doctor/inspect-base-url.ts';
import { freePort } from '../../../support/free-port.ts';
import { listenOnLoopback } from '../../../support/loopback-server.ts';

const ISSUER = 'https://auth.example';

function urlsOf(baseUrl: string, isPublic = true) {
  const [tokenUrl, metadataUrl, keySetUrl] = ['token', 'metadata', 'keys'].map((path) => `${baseUrl}/${path}`);
  return {
    baseUrl,
    issuer: ISSUER,
    tokenUrl: `${tokenUrl}`,
    metadataUrl: `${metadataUrl}`,
    keySetUrl: `${keySetUrl}`,
    isPublic,
  };
}

/** What is found where these paths have these bodies, or statuses. The token endpoint answers as ours. */
async function inspect(answers: Readonly<Record<string, unknown>>, isPublic = true, kid?: string) {
  const listener: RequestListener = ({ url = '' }, response) => {
    const answer = { '/token': 405, ...answers }[url] ?? 404;
    if (url === '/token') response.setHeader('Allow', 'POST');
    response.statusCode = typeof answer === 'number' ? answer : 200;
    if (response.statusCode === 302) response.setHeader('Location', '/login');
    response.end(typeof answer === 'number' ? '{}' : JSON.stringify(answer));
  };
  await using server = await listenOnLoopback(createServer(listener));
  const findings = await inspectBaseUrl({ ...urlsOf(server.url, isPublic), kid }, true);
  return findings.map(({ state, text }) => [state, text.replaceAll(server.url, '')]);
}

describe('inspectBaseUrl', () => {
  it('accepts the metadata of this service, and names its keys', async () => {
    expect(await inspect({ '/metadata': { issuer: ISSUER }, '/keys': { keys: [{ kid: 'a' }, { kid: 'b' }] } })).toEqual(
      [['ok', '/keys answers, with the keys a, b']],
    );
  });

  it('says whether a key is in the key set that resource servers fetch', async () => {
    const answers = { '/metadata': { issuer: ISSUER }, '/keys': { keys: [{ kid: 'a' }, { kid: 'b' }] } };
    const [known, unknown] = [await inspect(answers, true, 'a'), await inspect(answers, true, 'c')];
    expect(known).toEqual([['ok', expect.stringMatching(/^the key a is among the keys at \/keys: have the resource/)]]);
    expect(unknown).toEqual([['problem', 'the key c is not among the keys at /keys: a, b']]);
  });

  it('accepts a token endpoint alone if the metadata is not public', async () => {
    expect(await inspect({}, false)).toEqual([
      ['ok', '/token answers; metadata and key set require a token (PUBLIC_METADATA=false)'],
    ]);
  });

  it.each([
    [{ '/token': 401 }, '/token answers with status 401, not as this service'],
    [
      { '/token': 302 },
      '/token answers with status 302, not as this service: a redirect, and callers lose their request',
    ],
    [{}, '/metadata answers with status 404, not as this service'],
    [
      { '/metadata': { issuer: 'https://other.example' } },
      'the metadata at /metadata has another issuer than TOKEN_ISSUER',
    ],
    [{ '/metadata': [] }, 'the metadata at /metadata has another issuer than TOKEN_ISSUER'],
    [
      { '/metadata': { issuer: ISSUER }, '/keys': 503 },
      'the metadata answers, but the key set at /keys has status 503',
    ],
  ])('finds another service, or a proxy that changes requests: %j', async (answers, text) => {
    expect(await inspect(answers)).toEqual([['problem', text]]);
  });

  it.each([
    ['/metadata', { '/metadata': { issuer: ISSUER, more: 'x'.repeat(300_000) } }],
    ['/keys', { '/metadata': { issuer: ISSUER }, '/keys': { keys: [], more: 'x'.repeat(300_000) } }],
  ])('reads no more than the begin of a long answer at %s, and says so', async (path, answers) => {
    expect(await inspect(answers)).toEqual([
      ['problem', `${path} does not answer as this service: the answer is longer than 256 KiB`],
    ]);
  });

  it('stops to read an answer without an end', async () => {
    let sent = 0;
    const listener: RequestListener = (_request, response) => {
      response.writeHead(405, { Allow: 'POST' });
      const send = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536))) sent += 65_536;
      };
      response.on('drain', send);
      send();
    };
    await using server = await listenOnLoopback(createServer(listener));
    const [finding] = await inspectBaseUrl(urlsOf(server.url), true);
    expect(finding?.text).toContain('the answer is longer than 256 KiB');
    // What has arrived in buffers of the system, too.
    expect(sent).toBeLessThan(50_000_000);
  });

  it('is a problem if nothing answers although the service runs, and otherwise a note', async () => {
    const urls = urlsOf('https://no-such-host.invalid');
    const text = expect.stringMatching(/^nothing usable answers at https:\/\/no-such-host\.invalid\/token \(E\w+\)/);
    const [runs] = await inspectBaseUrl(urls, true);
    expect(runs).toEqual({ state: 'problem', text, cure: expect.stringContaining('correct BASE_URL') });
    const [stands] = await inspectBaseUrl(urls, false);
    expect(stands).toEqual({ state: 'note', text, cure: expect.stringContaining('start the service') });
  });

  it('is a note on this machine: a container does not reach the port that is published', async () => {
    const urls = urlsOf(`http://localhost:${await freePort()}`);
    expect(await inspectBaseUrl(urls, true)).toEqual([
      {
        state: 'note',
        text: expect.stringContaining('(ECONNREFUSED)'),
        cure: expect.stringContaining('in a container'),
      },
    ]);
  });

  it('notes a public URL without TLS', async () => {
    expect(await inspectBaseUrl(urlsOf('http://no-such-host.invalid'), false)).toContainEqual(
      expect.objectContaining({ state: 'note', text: 'BASE_URL is http: secrets and tokens travel unencrypted' }),
    );
  });
});
