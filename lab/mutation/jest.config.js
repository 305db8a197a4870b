import { fileURLToPath } from 'node:url';
import { common } from '../../jest.config.js';

export default {
  ...common,
  rootDir: '../..',
  testEnvironment: fileURLToPath(new URL('./stop-at-failure-environment.cjs', import.meta.url)),
  // The tests of the area (areas.ts): folders, and files without their ending.
  testMatch: (process.env['MUTATION_TESTS'] ?? '')
    .split(',')
    .flatMap((tests) => [`<rootDir>/tests/${tests}/**/*.test.ts`, `<rootDir>/tests/${tests}.test.ts`]),
  // What the tests read. Jest looks for files anew for each change.
  roots: [
    'domain',
    'application',
    'adapters',
    'config',
    'tests/domain',
    'tests/application',
    'tests/adapters',
    'tests/support',
    'tests/contracts',
  ].map((folder) => `<rootDir>/${folder}`),
  watchman: false,
  testTimeout: 20_000,
};
