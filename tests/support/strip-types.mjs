import { stripTypeScriptTypes } from 'node:module';

/**
 * Does what Node.js does when it runs this code: types become spaces, so that each line and column stays where it is.
 */
export default { process: (code) => ({ code: stripTypeScriptTypes(code) }) };
