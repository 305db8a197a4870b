"""Logs a Kafka client in by the grant jwt-bearer. librdkafka makes and signs the assertion."""

from confluent_kafka import Producer

producer = Producer(
    {
        "bootstrap.servers": "kafka.example.com:9092",
        "security.protocol": "SASL_SSL",
        "sasl.mechanisms": "OAUTHBEARER",
        "sasl.oauthbearer.method": "oidc",
        "sasl.oauthbearer.grant.type": "urn:ietf:params:oauth:grant-type:jwt-bearer",
        "sasl.oauthbearer.token.endpoint.url": "https://auth.example.com/oauth2/token",
        "sasl.oauthbearer.scope": "read",
        "sasl.oauthbearer.assertion.algorithm": "RS256",
        "sasl.oauthbearer.assertion.private.key.file": "private.pem",
        "sasl.oauthbearer.assertion.claim.iss": "my-client",
        "sasl.oauthbearer.assertion.claim.sub": "my-client",
        "sasl.oauthbearer.assertion.claim.aud": "https://auth.example.com",
    }
)
print(producer.list_topics(timeout=10).brokers)
