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

/** The folders of tests/ whose suites start no process and open no port. */
const UNIT = [
  'config/core',
  'config/settings',
  'domain',
  'application',
  ...['files', 'jwt', 'memory', 'prom-client', 'secrets', 'sqlite', 'tracing'].map((name) => `adapters/${name}`),
];

/** The suites of tests/faults that flood a service, measure time or memory, or have short deadlines: nothing else runs beside them. */
const ALONE = [
  ...['database', 'forged-assertions', 'heap-growth', 'memory', 'postgres-outages', 'repeated-requests', 'thread-pool'],
  'timing',
];

/** What all suites need. */
export const common = {
  testEnvironment: 'node',
  extensionsToTreatAsEsm: ['.ts'],
  transform: { '^.+\\.ts$': '<rootDir>/tests/support/strip-types.mjs' },
  testPathIgnorePatterns: ['/node_modules/', ...withoutVectors, ...withoutBrowser],
};

/** The suites of a name that can be chosen with --selectProjects. */
function project(displayName, files, without = []) {
  return {
    ...common,
    displayName,
    testMatch: [`<rootDir>/${files}`],
    testPathIgnorePatterns: [...common.testPathIgnorePatterns, ...without],
    globalSetup: '<rootDir>/tests/support/global-setup.ts',
    globalTeardown: '<rootDir>/tests/support/global-teardown.ts',
  };
}

const unit = project('unit', `tests/{${UNIT}}/**/*.test.ts`);

export default {
  projects: [
    { ...unit, globalSetup: undefined, globalTeardown: undefined },
    project(
      'service',
      'tests/**/*.test.ts',
      UNIT.map((folder) => `<rootDir>/tests/${folder}/`),
    ),
    project(
      'faults',
      'tests/faults/*.fault.ts',
      ALONE.map((name) => `<rootDir>/tests/faults/${name}\\.fault`),
    ),
    project('alone', `tests/faults/{${ALONE}}.fault.ts`),
    // Contracts, clients and verifiers that need packages of lab/; and those in other languages, whose packages are installed
    // into temporary folders.
    project('lab', 'lab/{interoperation,pact,screenshots}/*.test.ts'),
    project('interop', 'lab/interoperation/*.interop.ts'),
  ],
  // Longer than the deadline of tests/support/until.ts, whose error names the condition that did not hold.
  testTimeout: 120_000,
  // After the last test, a worker needs 0.1 s of CPU to end. One that does not end at all has a leak, and is reported.
  workerGracefulExitTimeout: 60_000,
};
