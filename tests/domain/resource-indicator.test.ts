import { describe, expect, it } from '@jest/globals';
import { isResourceIndicator, selectResources } from '../../domain/resource-indicator.ts';

describe('isResourceIndicator', () => {
  it.each([
    'https://api.example.com',
    'https://api.example.com/',
    'https://api.example.com:8443/v1/things?tenant=a%20b',
    'http://[::1]:8080/mcp',
    'urn:example:api',
    'spiffe://example.org/api',
    'api:things',
    `https://api.example.com/${'a'.repeat(1_976)}`,
  ])('accepts %s', (text) => {
    expect(isResourceIndicator(text)).toBe(true);
  });

  it.each([
    ['nothing', ''],
    ['a name', 'api'],
    ['a path', '/v1/things'],
    ['a scheme alone', 'https:'],
    ['no scheme', '//api.example.com'],
    ['a scheme that begins with a digit', '1api:things'],
    ['a fragment', 'https://api.example.com#v1'],
    ['an empty fragment', 'https://api.example.com#'],
    ['a space', 'https://api.example.com/a b'],
    ['a space before', ' https://api.example.com'],
    ['a line feed behind', 'https://api.example.com\n'],
    ['a character beyond ASCII', 'https://äpi.example.com'],
    ['a broken percent-encoding', 'https://api.example.com/%zz'],
    ['half of a percent-encoding', 'https://api.example.com/%4'],
    ['a quotation mark', 'https://api.example.com/"'],
    ['a backslash', 'https://api.example.com\\@evil.example'],
    ['2,001 characters', `https://api.example.com/${'a'.repeat(1_977)}`],
  ])('refuses a text with %s', (_what, text) => {
    expect(isResourceIndicator(text)).toBe(false);
  });
});

describe('selectResources', () => {
  it.each([
    ['https://api.example.com', 'https://api.example.com/'],
    ['https://api.example.com/', 'https://api.example.com'],
    ['http://localhost:3000', 'http://localhost:3000/'],
  ])('ignores one slash behind an origin: registered %s, requested %s', (registered, requested) => {
    expect(selectResources([registered], [requested])).toEqual([registered]);
  });

  it.each([
    ['https://api.example.com/v1', 'https://api.example.com/v1/'],
    ['https://api.example.com/v1/', 'https://api.example.com/v1'],
    ['https://api.example.com', 'https://api.example.com//'],
    ['https://api.example.com?a', 'https://api.example.com/?a'],
    ['https://api.example.com', 'https://api.example.com/v1'],
    ['https://api.example.com', 'urn:https://api.example.com'],
    ['https://api.example.com', 'https://API.example.com'],
    ['https://api.example.com', 'HTTPS://api.example.com'],
    ['https://api.example.com', 'https://api.example.com:443'],
    ['https://api.example.com', 'https://api.example.com.'],
    ['https://api.example.com/%41', 'https://api.example.com/A'],
    ['urn:example:api', 'urn:example:api/'],
  ])('finds nothing else similar: registered %s, requested %s', (registered, requested) => {
    expect(selectResources([registered], [requested])).toBeUndefined();
  });

  it('prefers the exact spelling if both are registered', () => {
    const both = ['https://api.example.com', 'https://api.example.com/'];
    expect(selectResources(both, ['https://api.example.com/'])).toEqual(['https://api.example.com/']);
    expect(selectResources(both, both)).toEqual(both);
  });

  it('returns each resource once, in the order of the request', () => {
    const registered = ['https://a.example', 'https://b.example', 'https://c.example'];
    const requested = ['https://c.example', 'https://a.example/', 'https://a.example', 'https://c.example'];
    expect(selectResources(registered, requested)).toEqual(['https://c.example', 'https://a.example']);
  });

  it('returns none for a request that names none, and refuses a request of which one is not registered', () => {
    expect(selectResources(['https://a.example'], [])).toEqual([]);
    expect(selectResources([], ['https://a.example'])).toBeUndefined();
    expect(selectResources(['https://a.example'], ['https://a.example', 'https://b.example'])).toBeUndefined();
  });
});
