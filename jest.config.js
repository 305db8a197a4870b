import { existsSync } from 'node:fs';

// Without this, Pact's core reports its runs to a public service. It reads the environment of the process. Jest gives tests
// only a copy of that environment, so a test cannot set the variable.
process.env['PACT_DO_NOT_TRACK'] = 'true';

// The vectors of Wycheproof are not part of this repository. tests/support/global-setup.ts says so if they are not tested.
const withoutVectors = process.env['WYCHEPROOF_DIR'] ? [] : ['/wycheproof\\.test\\.ts$'];

// Nor is a browser. It says so too.
const withoutBrowser = existsSync(process.env['CHROMIUM_PATH'] ?? '/usr/bin/chromium')
  ? []
  : ['-in-browser\\.(test|fault)\\.ts$'];

export default {
  testEnvironment: 'node',
  // Jest's default is one worker on a machine with two cores, but most tests wait for other processes.
  maxWorkers: 3,
  testMatch: ['<rootDir>/tests/**/*.test.ts'],
  testPathIgnorePatterns: ['/node_modules/', ...withoutVectors, ...withoutBrowser],
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': ['@swc/jest', { jsc: { target: 'es2024', parser: { syntax: 'typescript' } }, sourceMaps: 'inline' }],
  },
  globalSetup: '<rootDir>/tests/support/global-setup.ts',
  globalTeardown: '<rootDir>/tests/support/global-teardown.ts',
  // Longer than the deadline of tests/support/until.ts, whose error names the condition that did not hold.
  testTimeout: 120_000,
};
