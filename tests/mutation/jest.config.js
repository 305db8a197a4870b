import base from '../../jest.config.js';

// The tests of one of the two folders. They need no database and no network.
const FOLDER = process.env['MUTATED_FOLDER'];
const { globalSetup, globalTeardown, ...config } = base;

export default {
  ...config,
  rootDir: '../..',
  testMatch: [`<rootDir>/tests/${FOLDER}/**/*.test.ts`],
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
  testTimeout: 20_000,
};
