import { fileURLToPath } from 'node:url';
import base from '../../jest.config.js';

const { globalSetup, globalTeardown, ...config } = base;

export default {
  ...config,
  rootDir: '../..',
  testEnvironment: fileURLToPath(new URL('./stop-at-failure-environment.cjs', import.meta.url)),
  // They need no database and no network.
  testMatch: ['<rootDir>/tests/{domain,application}/**/*.test.ts'],
  // What the tests read. Jest looks for files anew for each change.
  roots: [
    'domain',
    'application',
    'adapters',
    'tests/domain',
    'tests/application',
    'tests/support',
    'tests/contracts',
  ].map((folder) => `<rootDir>/${folder}`),
  watchman: false,
  testTimeout: 10_000,
};
