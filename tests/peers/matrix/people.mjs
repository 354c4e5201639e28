// People on Matrix, played by matrix-js-sdk: `node people.mjs BED`, where BED holds node_modules.
//
// One process plays any number of logins. Each line of stdin is {id, who, do, with}; each line of
// stdout is {id, result} or {id, error, code}, or what a login was shown: {who, room, event},
// {who, room, typing}, {who, request}. It ends when stdin does.
import crypto from "node:crypto";
import path from "node:path";
import readline from "node:readline";
import { pathToFileURL } from "node:url";

// Node 20 lacks what the SDK takes for granted.
Promise.withResolvers ??= () => {
  const parts = {};
  parts.promise = new Promise((resolve, reject) => Object.assign(parts, { resolve, reject }));
  return parts;
};

const bed = process.argv[2];
const needed = (file) => import(pathToFileURL(path.join(bed, "node_modules", file)).href);
const sdk = await needed("matrix-js-sdk/lib/index.js");
const api = await needed("matrix-js-sdk/lib/crypto-api/index.js");
const { logger } = await needed("matrix-js-sdk/lib/logger.js");
// stdout is for our lines alone.
for (const name of ["log", "info", "debug", "trace", "warn"]) console[name] = () => {};
logger.setLevel?.("error");

const tell = (line) => process.stdout.write(JSON.stringify(line) + "\n");
const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));

class Person {
  constructor(who) {
    this.who = who;
    this.events = new Map();
    this.told = new Map();
    this.requests = new Map();
  }

  async login({ url, user, password, device, encrypts, signs, only_signed }) {
    const asking = sdk.createClient({ baseUrl: url });
    const made = await asking.loginRequest({
      type: "m.login.password",
      identifier: { type: "m.id.user", user },
      password,
      ...(device && { device_id: device }),
    });
    this.url = url;
    this.client = sdk.createClient({
      baseUrl: url,
      accessToken: made.access_token,
      userId: made.user_id,
      deviceId: made.device_id,
      cryptoCallbacks: {},
      verificationMethods: ["m.sas.v1"],
    });
    if (encrypts) {
      await this.client.initRustCrypto({ useIndexedDB: false });
      this.crypto = this.client.getCrypto();
      if (signs) await this.signOwnDevice(password);
      this.isolate({ only_signed });
    }
    this.watch();
    const synced = new Promise((resolve) => this.client.once("sync", resolve));
    await this.client.startClient({ initialSyncLimit: 100, threadSupport: true });
    await synced;
    return { user: made.user_id, device: made.device_id, token: made.access_token };
  }

  async signOwnDevice(password) {
    await this.crypto.bootstrapCrossSigning({
      authUploadDeviceSigningKeys: (ask) =>
        ask({
          type: "m.login.password",
          identifier: { type: "m.id.user", user: this.client.getUserId() },
          password,
        }),
    });
  }

  watch() {
    const show = (event) => this.show(event);
    this.client.on("event", show);
    this.client.on("Room.timeline", show);
    this.client.on("Event.decrypted", show);
    this.client.on("Event.replaced", show);
    this.client.on("Room.redaction", (redaction, room) => {
      show(redaction);
      const gone = room.findEventById(redaction.getAssociatedId());
      if (gone) show(gone);
    });
    this.client.on("RoomMember.typing", (_, member) => {
      const room = this.client.getRoom(member.roomId);
      const typing = room.getMembers().filter((each) => each.typing);
      tell({ who: this.who, room: room.roomId, typing: typing.map((each) => each.userId) });
    });
    this.client.on("crypto.verificationRequestReceived", (request) => {
      this.requests.set(request.transactionId, request);
      tell({ who: this.who, request: { id: request.transactionId, by: request.otherUserId } });
    });
  }

  // Tells of an event of a room when it comes, and again when it reads otherwise than before.
  show(event) {
    const id = event.getId();
    const room = event.getRoomId();
    if (!id || !room || id.startsWith("~")) return;
    const kept = this.client.getRoom(room)?.findEventById(id) ?? event;
    if (!this.events.has(id)) kept.on("Event.replaced", () => this.show(kept));
    this.events.set(id, kept);
    const described = describe(kept);
    const told = JSON.stringify(described);
    if (this.told.get(id) === told) return;
    this.told.set(id, told);
    tell({ who: this.who, room, event: described });
  }

  isolate({ only_signed }) {
    const mode = only_signed ? api.OnlySignedDevicesIsolationMode : api.AllDevicesIsolationMode;
    this.crypto.setDeviceIsolationMode(only_signed ? new mode() : new mode(false));
  }

  // Withholds keys from devices that were not verified, or no longer does.
  withhold({ on }) {
    this.crypto.globalBlacklistUnverifiedDevices = on;
  }

  async forget_session({ room }) {
    await this.crypto.forceDiscardSession(room);
  }

  async create({ encrypted, options }) {
    const lock = {
      type: "m.room.encryption",
      state_key: "",
      content: { algorithm: "m.megolm.v1.aes-sha2" },
    };
    const initial_state = [...(options.initial_state ?? []), ...(encrypted ? [lock] : [])];
    const { room_id } = await this.client.createRoom({ ...options, initial_state });
    await this.knows(room_id);
    return room_id;
  }

  async join({ room }) {
    const joined = await this.client.joinRoom(room);
    await this.knows(joined.roomId);
    return joined.roomId;
  }

  // The room came with a sync, and if it is encrypted, so does the client encrypt in it.
  async knows(room) {
    while (this.client.getRoom(room)?.getMyMembership() !== "join") await pause(20);
  }

  // In a thread where one is named, by the SDK's own way of building the relation.
  async send({ room, thread, type, content }) {
    const sent = await this.client.sendEvent(room, thread || null, type, content);
    return sent.event_id;
  }

  async redact({ room, event, reason }) {
    return (await this.client.redactEvent(room, event, undefined, { reason })).event_id;
  }

  async state({ room, type, key, content }) {
    return (await this.client.sendStateEvent(room, type, content, key)).event_id;
  }

  async upgrade({ room, version }) {
    return (await this.client.upgradeRoom(room, version)).replacement_room;
  }

  async invite({ room, user }) {
    await this.client.invite(room, user);
  }

  async kick({ room, user, reason }) {
    await this.client.kick(room, user, reason);
  }

  async ban({ room, user, reason }) {
    await this.client.ban(room, user, reason);
  }

  async unban({ room, user }) {
    await this.client.unban(room, user);
  }

  async leave({ room }) {
    await this.client.leave(room);
  }

  async power({ room, user, level }) {
    await this.client.setPowerLevel(room, user, level);
  }

  async back({ room, limit }) {
    await this.client.scrollback(this.client.getRoom(room), limit);
  }

  async read_marker({ room, event }) {
    await this.client.sendReadReceipt(this.client.getRoom(room).findEventById(event));
  }

  rooms() {
    return Object.fromEntries(
      this.client.getRooms().map((room) => [room.roomId, room.getMyMembership()]),
    );
  }

  is_encrypted({ room }) {
    return this.client.getRoom(room).hasEncryptionStateEvent();
  }

  members({ room }) {
    const found = this.client.getRoom(room)?.getMembers() ?? [];
    return Object.fromEntries(found.map((member) => [member.userId, member.membership]));
  }

  // What a client with threads lists: the replies of each in order, by root.
  threads({ room }) {
    const found = this.client.getRoom(room)?.getThreads() ?? [];
    return Object.fromEntries(
      found.map((thread) => [
        thread.id,
        thread.events.map((event) => event.getId()).filter((id) => id !== thread.id),
      ]),
    );
  }

  async upload({ base64, type, encrypt }) {
    const bytes = Buffer.from(base64, "base64");
    const put = async (data, as) =>
      (await this.client.uploadContent(data, { type: as, includeFilename: false })).content_uri;
    if (!encrypt) return { url: await put(bytes, type) };
    const key = crypto.randomBytes(32);
    const iv = Buffer.concat([crypto.randomBytes(8), Buffer.alloc(8)]);
    const cipher = crypto.createCipheriv("aes-256-ctr", key, iv);
    const hidden = Buffer.concat([cipher.update(bytes), cipher.final()]);
    const file = {
      v: "v2",
      url: await put(hidden, "application/octet-stream"),
      key: {
        alg: "A256CTR",
        ext: true,
        k: key.toString("base64url"),
        key_ops: ["encrypt", "decrypt"],
        kty: "oct",
      },
      iv: unpadded(iv),
      hashes: { sha256: unpadded(sha256(hidden)) },
    };
    return { file };
  }

  // The bytes of a message's file, decrypted where it is encrypted and checked against its hash.
  async download({ url, file }) {
    const from = this.client.mxcUrlToHttp(file?.url ?? url, undefined, undefined, undefined, false, true, true);
    const headers = { Authorization: `Bearer ${this.client.getAccessToken()}` };
    const answer = await fetch(from, { headers });
    if (!answer.ok) throw new Error(`The file was not given: ${answer.status}`);
    const bytes = Buffer.from(await answer.arrayBuffer());
    if (!file) return bytes.toString("base64");
    if (unpadded(sha256(bytes)) !== file.hashes.sha256) throw new Error("The hash is another.");
    const key = Buffer.from(file.key.k, "base64url");
    const open = crypto.createDecipheriv("aes-256-ctr", key, Buffer.from(file.iv, "base64"));
    return Buffer.concat([open.update(bytes), open.final()]).toString("base64");
  }

  // Asks another user, in a room, or a device of theirs, and goes on until it is done or cancelled.
  async verify({ user, room, device, starts, matches, seconds }) {
    await this.crypto.getUserDeviceInfo([user], true);
    const request = room
      ? await this.crypto.requestVerificationDM(user, room)
      : await this.crypto.requestDeviceVerification(user, device);
    return await this.carried(request, starts, matches, seconds);
  }

  // Takes a request that came.
  async accept({ id, starts, matches, seconds }) {
    const request = this.requests.get(id);
    await request.accept();
    return await this.carried(request, starts, matches, seconds);
  }

  async decline({ id }) {
    await this.requests.get(id).cancel();
  }

  async carried(request, starts, matches, seconds) {
    const { Ready, Started, Cancelled, Done } = api.VerificationPhase;
    const shown = { emoji: [], decimal: [] };
    const over = Date.now() + seconds * 1000;
    let verifier;
    const take = (one) => {
      verifier = one;
      const compare = (sas) => {
        shown.emoji = (sas.sas.emoji ?? []).map(([sign]) => sign);
        shown.decimal = sas.sas.decimal ?? [];
        if (matches) sas.confirm().catch(() => {});
        else sas.mismatch();
      };
      verifier.on("show_sas", compare);
      const early = verifier.getShowSasCallbacks();
      if (early) compare(early);
      verifier.verify().catch(() => {});
    };
    while (![Cancelled, Done].includes(request.phase)) {
      if (!verifier && request.phase === Ready && starts)
        take(await request.startVerification("m.sas.v1"));
      if (!verifier && request.phase === Started && request.verifier) take(request.verifier);
      if (Date.now() > over) break;
      await pause(20);
    }
    const phases = Object.fromEntries(Object.entries(api.VerificationPhase).map(([k, v]) => [v, k]));
    return {
      phase: phases[request.phase] ?? String(request.phase),
      code: request.cancellationCode ?? "",
      by: request.cancellingUserId ?? "",
      ...shown,
    };
  }

  // What the client thinks of a user and of each of their devices.
  async trust({ user }) {
    const status = await this.crypto.getUserVerificationStatus(user);
    const devices = (await this.crypto.getUserDeviceInfo([user], true)).get(user) ?? new Map();
    const of = {};
    for (const device of devices.keys()) {
      const trusted = await this.crypto.getDeviceVerificationStatus(user, device);
      of[device] = { signed: trusted.signedByOwner, verified: trusted.crossSigningVerified };
    }
    return { verified: status.isCrossSigningVerified(), devices: of };
  }

  async export_keys() {
    return await this.crypto.exportRoomKeysAsJson();
  }

  async import_keys({ keys }) {
    await this.crypto.importRoomKeysAsJson(keys);
  }

  async logout() {
    this.client.stopClient();
    await this.client.logout();
  }

  stop() {
    this.client?.stopClient();
  }
}

function describe(event) {
  const wire = event.getWireContent() ?? {};
  return {
    id: event.getId(),
    sender: event.getSender(),
    type: event.getType(),
    state_key: event.isState() ? event.getStateKey() : null,
    content: event.getContent(),
    original: event.getOriginalContent(),
    relation: wire["m.relates_to"] ?? {},
    thread: event.threadRootId ?? "",
    redacts: event.getAssociatedId() && event.getType() === "m.room.redaction" ? event.getAssociatedId() : "",
    encrypted: event.isEncrypted(),
    waits: event.getType() === "m.room.encrypted" && !event.isDecryptionFailure(),
    failure: event.isDecryptionFailure() ? String(event.decryptionFailureReason ?? "unknown") : "",
    edited: Boolean(event.replacingEvent()),
    redacted: event.isRedacted(),
    at: event.getTs(),
  };
}

const sha256 = (bytes) => crypto.createHash("sha256").update(bytes).digest();
const unpadded = (bytes) => bytes.toString("base64").replace(/=+$/, "");

const people = new Map();

async function answer({ id, who, do: what, with: given }) {
  if (!people.has(who)) people.set(who, new Person(who));
  try {
    tell({ id, result: (await people.get(who)[what](given ?? {})) ?? null });
  } catch (error) {
    tell({ id, error: String(error?.message ?? error), code: error?.errcode ?? "" });
  }
}

process.on("unhandledRejection", (error) => tell({ stray: String(error?.stack ?? error) }));
readline
  .createInterface({ input: process.stdin })
  .on("line", (line) => void answer(JSON.parse(line)))
  .on("close", () => process.exit(0));
tell({ ready: true });
