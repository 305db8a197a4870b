import axios from 'axios';
import { clientCredentials } from 'axios-oauth-client';

const getToken = clientCredentials(axios.create(), 'https://auth.example.com/oauth2/token', 'my-client', 'my-secret');

export const accessToken = async () => (await getToken('')).access_token;
