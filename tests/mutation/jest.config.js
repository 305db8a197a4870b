import base from '../../jest.config.js';

/** The tests of `domain/` and `application/` only. They need no database and no network. */
const { globalSetup, globalTeardown, ...config } = base;

export default {
  ...config,
  rootDir: '../..',
  testMatch: ['<rootDir>/tests/domain/**/*.test.ts', '<rootDir>/tests/application/**/*.test.ts'],
};
