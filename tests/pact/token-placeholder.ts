/** Stands in a contract where a request has an access token. */
export const TOKEN_PLACEHOLDER = 'ACCESS_TOKEN';
