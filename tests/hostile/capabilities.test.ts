import { expect, test } from '@jest/globals';
import { answeredWith, CAPABILITIES, EVERYTHING } from './capabilities.ts';
import { describeHostileGroups } from './describe-hostile.ts';
import { startHostileService } from './hostile-service.ts';
import { HOSTILE_REQUESTS } from './hostile-table.ts';

test('each hostile request has a name of its own', () => {
  const names = Object.values(HOSTILE_REQUESTS).flatMap((rows) => rows.map(({ name }) => name));
  expect(names.filter((name, position) => names.indexOf(name) < position)).toEqual([]);
});

test.each(Object.entries(CAPABILITIES))(
  'an answer that differs with %s is to one of these requests',
  (_name, capability) => {
    expect(() => answeredWith(capability, HOSTILE_REQUESTS)).not.toThrow();
  },
);

// tests/faults/capabilities.fault.ts has each of them by itself.
describeHostileGroups(
  'hostile requests with every capability switched on',
  () => startHostileService(EVERYTHING.options),
  answeredWith(EVERYTHING, HOSTILE_REQUESTS),
);
