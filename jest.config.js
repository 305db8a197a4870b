// Pact's core counts its runs at a public service otherwise. It reads the environment of the process itself, of which Jest
// gives a test only a copy, so that a test cannot set it.
process.env['PACT_DO_NOT_TRACK'] = 'true';

export default {
  testEnvironment: 'node',
  testMatch: ['<rootDir>/tests/**/*.test.ts'],
  extensionsToTreatAsEsm: ['.ts'],
  transform: {
    '^.+\\.ts$': ['@swc/jest', { jsc: { target: 'es2024', parser: { syntax: 'typescript' } }, sourceMaps: 'inline' }],
  },
  globalSetup: '<rootDir>/tests/support/global-setup.ts',
  globalTeardown: '<rootDir>/tests/support/global-teardown.ts',
  // Longer than the deadline of tests/support/until.ts, whose error says what was waited for.
  testTimeout: 120_000,
};
