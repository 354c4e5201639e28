"""The homeserver of the tests is a real one, and can be stopped and started on the same data."""

from tests.peers.synapse import Synapse

SEND = "/_matrix/client/v3/rooms/{}/send/m.room.message/{}"
WHO = "/_matrix/client/v3/account/whoami"


def test_what_was_sent_is_there_after_a_restart(synapse: Synapse) -> None:
    sender = synapse.register()
    room = synapse.done("POST", "/_matrix/client/v3/createRoom", {}, sender.token)["room_id"]
    hello = {"msgtype": "m.text", "body": "hello"}
    sent = synapse.done("PUT", SEND.format(room, "once"), hello, sender.token)

    synapse.stop()
    synapse.start()

    again = synapse.done("PUT", SEND.format(room, "once"), hello, sender.token)
    assert again == sent


def test_a_token_can_be_taken_away_with_and_without_its_device(synapse: Synapse) -> None:
    person = synapse.register()
    phone = synapse.login(person)
    spent = synapse.login(person)

    synapse.log_out(person.token)
    synapse.forget_token(phone.token)
    synapse.forget_token(spent.token, soft=True)

    answers = [synapse.call("GET", WHO, token=login.token) for login in (person, phone, spent)]
    devices = synapse.admin("GET", f"/v2/users/{person.user_id}/devices")["devices"]
    assert [answer.body["errcode"] for answer in answers] == ["M_UNKNOWN_TOKEN"] * 3
    assert [answer.body["soft_logout"] for answer in answers] == [False, False, True]
    assert {device["device_id"] for device in devices} == {phone.device_id, spent.device_id}


def test_stock_limits_hold_for_all_but_those_who_are_freed(stock_synapse: Synapse) -> None:
    limited, free = stock_synapse.register(), stock_synapse.register()
    stock_synapse.free_of_limits(free.user_id)

    held_back = {user: _statuses_of_a_burst(stock_synapse, user.token) for user in (limited, free)}

    assert 429 in held_back[limited]
    assert set(held_back[free]) == {200}


def _statuses_of_a_burst(server: Synapse, token: str) -> list[int]:
    room = server.done("POST", "/_matrix/client/v3/createRoom", {}, token)["room_id"]
    message = {"msgtype": "m.text", "body": "one of many"}
    return [server.call("PUT", SEND.format(room, n), message, token).status for n in range(12)]
