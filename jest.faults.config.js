import suite from './jest.config.js';

// Tests of faults that take longer than those of the suite. One at a time: they wait for processes, and some load the machine.
export default { ...suite, testMatch: ['**/tests/faults/**/*.fault.ts'], maxWorkers: 1 };
