<?php
$provider = new League\OAuth2\Client\Provider\GenericProvider([
    'clientId' => 'my-client',
    'clientSecret' => 'my-secret',
    'urlAccessToken' => 'https://auth.example.com/oauth2/token',
    'urlAuthorize' => '',
    'urlResourceOwnerDetails' => '',
]);
$token = $provider->getAccessToken('client_credentials');
$request = $provider->getAuthenticatedRequest('GET', 'https://api.example.com/things', $token);
echo $provider->getResponse($request)->getBody();
