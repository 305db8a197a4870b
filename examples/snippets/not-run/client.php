<?php
$provider = new League\OAuth2\Client\Provider\GenericProvider([
    'clientId' => 'demo-client',
    'clientSecret' => 'demo-secret',
    'urlAccessToken' => 'http://localhost:8080/oauth2/token',
    'urlAuthorize' => '',
    'urlResourceOwnerDetails' => '',
]);
$token = $provider->getAccessToken('client_credentials');
$request = $provider->getAuthenticatedRequest('GET', 'http://localhost:8080/v1/locations/NYC_USA', $token);
echo $provider->getResponse($request)->getBody();
