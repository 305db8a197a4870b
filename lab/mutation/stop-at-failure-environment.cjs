const { TestEnvironment } = require('jest-environment-node');

// One failed test is enough to notice a change: the other tests of the file are skipped. CommonJS, as Stryker loads it.
module.exports = class StopAtFailureEnvironment extends TestEnvironment {
  #hasFailed = false;

  handleTestEvent({ name, test }) {
    if (name === 'test_done' && test.errors.length > 0) this.#hasFailed = true;
    if (name === 'test_start' && this.#hasFailed) test.mode = 'skip';
  }
};
