import { inspect } from 'node:util';
import { describe, expect, it } from '@jest/globals';
import { ClientRegistration } from '../../domain/client-registration.ts';

const FIELDS = {
  id: '1',
  clientId: 'a-client',
  clientSecret: '{noop}its-secret',
  clientName: 'A client',
  scope: 'read',
};

describe('ClientRegistration', () => {
  it.each([
    ['id', ''],
    ['clientId', ''],
    ['clientId', 'a'.repeat(256)],
    ['clientId', 'a\nb'],
    ['clientSecret', ''],
    ['clientName', ''],
    ['scope', ''],
    ['scope', 'a  b'],
  ] as const)('names the field that breaks an invariant: %s %j', (field, value) => {
    const registration = ClientRegistration.of({ ...FIELDS, [field]: value });
    expect(registration).toMatchObject({ ok: false, problem: { field } });
    if (value !== '') expect(JSON.stringify(registration)).not.toContain(value);
  });

  it.each(['a', '0', 'ü', 'with space', 'a'.repeat(255), '😀'.repeat(255)])('accepts the client id %s', (clientId) => {
    expect(ClientRegistration.of({ ...FIELDS, clientId }).ok).toBe(true);
  });

  it('accepts a stored secret that nothing can match: the client is locked', () => {
    const registration = ClientRegistration.of({ ...FIELDS, clientSecret: '!' });
    expect(registration.ok && registration.value.clientSecret.kind).toBe('unusable');
  });

  it('is immutable', () => {
    const registration = ClientRegistration.of(FIELDS);
    expect(registration.ok && Object.isFrozen(registration.value)).toBe(true);
  });

  it('never shows its secret: not as JSON, not when inspected, not as text', () => {
    const registration = ClientRegistration.of(FIELDS);
    if (!registration.ok) throw new Error('refused');
    const { value } = registration;
    for (const shown of [
      JSON.stringify(value),
      inspect(value, { depth: 9, showHidden: true }),
      `${value.clientSecret}`,
    ]) {
      expect(shown).not.toContain('its-secret');
    }
  });
});

describe('the rules that a registration breaks', () => {
  it.each([
    ['id', 'must not be empty', { id: '' }],
    ['clientId', 'must have 1 to 255 characters and no control character', { clientId: '' }],
    ['clientSecret', 'must not be empty', { clientSecret: '' }],
    ['clientName', 'must not be empty', { clientName: '' }],
    ['scope', 'must be one or more scope tokens with single spaces between (RFC 6749 section 3.3)', { scope: '' }],
  ])('%s %s', (field, rule, more) => {
    const fields = { id: '1', clientId: 'c', clientSecret: 's', clientName: 'n', scope: 'read', ...more };
    expect(ClientRegistration.of(fields)).toEqual({ ok: false, problem: { field, rule } });
  });
});
