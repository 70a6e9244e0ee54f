/** Email about shares and accounts, through a real SMTP server. */
import { once } from 'node:events'
import { mkdir, writeFile } from 'node:fs/promises'
import { type AddressInfo, createServer, type Socket } from 'node:net'
import { join } from 'node:path'
import { sql } from 'kysely'
import { TOTP } from 'otpauth'
import t from 'tap'
import { mailServer } from '../servers/smtp.ts'
import { startApp } from '../support/app.ts'
import { password } from '../support/client.ts'
import { atNight } from '../support/extent.ts'
import { ask, drop, makeShare, revokeShare } from '../support/shares.ts'
import { until } from '../support/until.ts'

const create = 'mutation ($input: CreateShareInput!) { createShare(input: $input) { url } }'
const secret = 'a-secret-of-the-mail-server'

// The installation of the mail server takes a while.
t.setTimeout(300_000)

t.test('email about shares', async t => {
  const server = await mailServer(t)
  const mail = {
    smtpUrl: server.url,
    from: 'stowage@files.example.org',
    publicUrl: 'https://files.example.org',
    sendsResets: true,
  }
  const app = await startApp(t, { settings: { mail, publicUrl: mail.publicUrl } })
  const { token } = await app.register('owner@example.org')
  const providerId = await app.connectProvider(token, 'local', { root: app.folder }, 'Disk')
  const injecting = 'in\r\nBcc: eve@example.org'
  await mkdir(join(app.folder, 'team/in box'), { recursive: true })
  await writeFile(join(app.folder, 'team', injecting), 'x')
  const share = (input: object) => makeShare(app, token, { providerId, path: '/team/in box', ...input })
  const received = async (count: number) => {
    await until(async () => {
      const { length } = await server.received()
      return length >= count || length
    })
    return server.received()
  }
  /** The messages that one of the tests sends to people of the workspace. */
  const toPeople = 2
  const waiting = () => app.db.selectFrom('share_emails').selectAll().execute()
  const due = () => sql`update share_emails set next_attempt_at = now()`.execute(app.db)
  const reason = async (input: object) =>
    (await app.graphql(create, { input: { providerId, path: '/team', ...input } }, token)).errors[0]?.extensions.reason

  t.test('a message that the server does not take is sent again', async t => {
    const { url } = await share({ recipients: ['ann@example.org'], note: 'Hello,\nAnn', password: 'correct horse' })
    await until(async () => (await waiting())[0]?.attempts === 1)
    t.match(app.logged(), /An email about a share could not be sent/)
    await server.start()
    await due()
    const [message] = await received(1)
    t.match(message, {
      recipient: 'ann@example.org',
      headers: {
        from: 'Stowage <stowage@files.example.org>',
        to: 'ann@example.org',
        'reply-to': 'owner@example.org',
        subject: 'owner@example.org shares \u201cin box\u201d with you',
        'auto-submitted': 'auto-generated',
      },
    })
    t.match(message?.text, `\n${url}\n`)
    t.match(message?.text, '\n> Hello,\n> Ann\n')
    t.match(message?.text, 'The link needs a password.')
    t.notMatch(message?.text, /correct horse/)
    await until(async () => (await waiting()).length === 0)
    t.equal((await ask(app, url.slice(url.lastIndexOf('/') + 1))).reason, 'SHARE_PASSWORD_REQUIRED')
    t.notMatch(app.logged(), /stw_share_[0-9a-f]{8}|ann@example/, 'the log has neither the link nor the recipient')
  })

  t.test('names and addresses add no header and no recipient', async t => {
    await share({
      path: `/team/${injecting}`,
      recipients: ['bob@example.org', 'refused@example.org', 'bob@example.org'],
      note: 'Hi\r\n.\r\nRCPT TO:<eve@example.org>',
    })
    const messages = await received(2)
    t.same(messages.map(({ recipient }) => recipient).toSorted(), ['ann@example.org', 'bob@example.org'])
    const { headers, text } = messages.find(({ recipient }) => recipient === 'bob@example.org') ?? {}
    t.equal(headers?.subject, 'owner@example.org shares \u201cin Bcc: eve@example.org\u201d with you')
    t.same([headers?.bcc, headers?.to], [undefined, 'bob@example.org'])
    t.notMatch(text, /^Bcc/m)
    t.match(text, '\n> Hi\n> .\n> RCPT TO:<eve@example.org>\n')
    await until(async () => (await waiting()).length === 0)
    t.match(app.logged(), /"replyCode":550/, 'a refused recipient is not tried again')
    const addresses = [
      'a@example.org, b@example.org',
      'a@example.org,b@example.org',
      'a@example.org\r\nBcc: b@example.org',
      'Ann <a@example.org>',
      '"a"@example.org',
      'nobody',
    ]
    for (const recipient of addresses) t.equal(await reason({ recipients: [recipient] }), 'INVALID_INPUT', recipient)
    const many = Array.from({ length: 11 }, (_, n) => `a${n}@example.org`)
    t.equal(await reason({ recipients: many }), 'INVALID_INPUT')
    await sql`update rate_limits set hits = 99`.execute(app.db)
    t.equal(await reason({ recipients: many.slice(0, 2) }), 'RATE_LIMITED')
    const ended = await share({ path: '/team' })
    await sql`insert into share_emails (id, share_id, recipient, next_attempt_at)
      values (gen_random_uuid(), ${ended.id}, 'late@example.org', 'infinity')`.execute(app.db)
    await revokeShare(app, token, ended.id)
    await due()
    await until(async () => (await waiting()).length === 0)
    t.equal((await server.received()).length, 2, 'nobody gets a link that has ended')
  })

  atNight(
    t,
    'people of the workspace get the link of what is shared with them, and only those who are new',
    async t => {
      await sql`delete from rate_limits`.execute(app.db)
      const before = (await server.received()).length
      const invite = 'mutation { createInvite(input: { role: NONE }) { invite } }'
      const join = async (email: string) => {
        const { createInvite } = await app.ask(invite, {}, token)
        return (await app.register(email, { invite: createInvite.invite })).id
      }
      const [carl, dora] = [await join('carl@example.org'), await join('dora@example.org')]
      const rename = async (name: string | null) =>
        sql`update users set name = ${name} where email = 'owner@example.org'`.execute(app.db)
      await rename('Eve\u202e<b>\r\nhttps://evil.example/\r\n')
      const expiresAt = new Date(Date.now() + 86_400_000)
      const more = { userIds: [carl], emailUsers: true, expiresAt, note: 'Hi\r\n.\r\nhttps://evil.example/' }
      const { id, url } = await share({ path: `/team/${injecting}`, ...more })
      const update = 'mutation ($input: UpdateShareInput!) { updateShare(input: $input) { id } }'
      const addressed = async (count: number) => {
        const of = async () => (await server.received()).filter(({ recipient }) => /^(?:carl|dora)@/.test(recipient))
        await until(async () => (await of()).length >= count || (await of()).length)
        return of()
      }
      const [first] = await addressed(1)
      t.equal(first?.recipient, 'carl@example.org')
      t.equal(
        first?.headers.subject,
        'Eve <b> https://evil.example/ shares \u201cin Bcc: eve@example.org\u201d with you',
      )
      const lines = first?.text.trimEnd().split(/\r?\n/) ?? []
      const isUntil = (line: string) => /^The link works until .*\d{4}.* UTC\.$/.test(line)
      t.same(
        lines.map(line => (isUntil(line) ? 'until' : line)),
        [
          'Eve <b> https://evil.example/ shares \u201cin Bcc: eve@example.org\u201d with you:',
          '',
          url,
          '',
          'Eve <b> https://evil.example/ writes:',
          '',
          '> Hi',
          '> .',
          '> https://evil.example/',
          '',
          'until',
          '',
          'Sign in with your account to open it. The link is of no use to others.',
        ],
      )
      t.same([first?.headers.bcc, first?.headers['reply-to']], [undefined, 'owner@example.org'])
      await app.ask(update, { input: { id, addUserIds: [carl, dora], emailUsers: true } }, token)
      t.same((await addressed(2)).map(({ recipient }) => recipient).toSorted(), [
        'carl@example.org',
        'dora@example.org',
      ])
      await app.ask(update, { input: { id, removeUserIds: [dora] } }, token)
      await sql`insert into share_emails (id, share_id, recipient) values (gen_random_uuid(), ${id}, 'dora@example.org')`.execute(
        app.db,
      )
      await until(async () => (await waiting()).length === 0)
      t.equal(
        (await server.received()).length,
        before + 2,
        'a message that waits is not sent to somebody who was removed',
      )
      const all = 'mutation { createInvite(input: { role: ADMIN, providerAccess: { all: true } }) { invite } }'
      const admin = await app.register('admin@example.org', (await app.ask(all, {}, token)).createInvite)
      const added = { id, addUserIds: [admin.id], emailUsers: true }
      const { errors } = await app.graphql(update, { input: added }, admin.token)
      t.match(errors[0]?.message, 'Only the person who made the share', 'the email would name another sender')
      await app.ask(update, { input: { ...added, emailUsers: false } }, admin.token)
      await app.ask(update, { input: { id, addUserIds: [dora] } }, token)
      await until(async () => (await waiting()).length === 0)
      t.equal((await server.received()).length, before + 2, 'nobody gets an email who was not to get one')
      await rename(null)
    },
  )

  atNight(t, 'the maker of a drop link hears of the files that arrive, in one message', async t => {
    const told = await share({ kind: 'DROP', notify: true })
    const silent = await share({ kind: 'DROP' })
    t.equal(await reason({ notify: true }), 'INVALID_INPUT', 'only a drop link can notify')
    for (const name of ['a', 'b', 'c']) await drop(app, told.link, `/secret ${name}.txt`, 'x'.repeat(500))
    await drop(app, silent.link, '/d.txt', 'x')
    await until(async () => (await waiting())[0]?.files === 3)
    t.equal((await waiting()).length, 1)
    await due()
    const of = async (count: number) =>
      (await received(2 + toPeople + count)).filter(({ recipient }) => recipient === 'owner@example.org')
    const [message] = await of(1)
    t.equal(message?.headers.subject, '3 files arrived in \u201cin box\u201d')
    t.match(message?.text, '3 files arrived in \u201cin box\u201d through your share link (1.5 KB).')
    t.match(message?.text, `https://files.example.org/files/${providerId}/team/in%20box\n`)
    t.notMatch(message?.text, /secret/, 'strangers do not write to the maker')
    await until(async () => (await waiting()).length === 0)
    await drop(app, told.link, '/e.txt', 'x')
    await until(async () => (await waiting())[0]?.files === 1)
    const off = 'mutation ($input: UpdateShareInput!) { updateShare(input: $input) { notify } }'
    await app.ask(off, { input: { id: told.id, notify: false } }, token)
    await drop(app, told.link, '/f.txt', 'x')
    await app.app.services.audit.flush()
    t.match(await waiting(), [{ files: 1 }], 'nothing is added after notifications were ended')
    await due()
    t.match((await of(2)).map(({ headers }) => headers.subject).toSorted()[0], /^1 file arrived/)
  })

  atNight(t, 'a message is in the language of its reader or, without one, of the workspace', async t => {
    const sentTo = async (recipient: string) => (await server.received()).find(each => each.recipient === recipient)
    const german = await app.register('german@example.org')
    await app.ask('mutation { updateProfile(input: { language: "de" }) { id } }', {}, german.token)
    await app.ask('mutation { updateWorkspace(input: { language: "fr" }) { id } }', {}, token)
    await sql`delete from rate_limits`.execute(app.db)
    await share({
      recipients: ['German@example.org', 'stranger@example.org'],
      expiresAt: new Date(Date.now() + 86_400_000),
    })
    await until(async () => (await waiting()).length === 0)
    t.match(await sentTo('German@example.org'), {
      headers: { subject: 'owner@example.org gibt \u201ein box\u201c für Sie frei', 'content-language': 'de' },
      text: /Der Link funktioniert bis .*\d{4}.* UTC\./,
    })
    t.match(await sentTo('stranger@example.org'), {
      headers: { subject: 'owner@example.org partage «\u00a0in box\u00a0» avec vous', 'content-language': 'fr' },
    })
    await app.ask('mutation { updateWorkspace(input: { language: "" }) { id } }', {}, token)
  })

  t.test('a mentioned person gets an email, if they may still read the entry', async t => {
    const invited = 'mutation { createInvite(input: { role: EDITOR, providerAccess: { all: true } }) { invite } }'
    const join = async (email: string) => {
      const { createInvite } = await app.ask(invited, {}, token)
      return app.register(email, { invite: createInvite.invite })
    }
    await sql`delete from rate_limits`.execute(app.db)
    const emails = ['mia@example.org', 'leaves@example.org', 'quiet@example.org']
    const people = await Promise.all(emails.map(join))
    const [mia, leaves, quiet] = people
    await app.ask('mutation { updateProfile(input: { name: "Mia", language: "de" }) { id } }', {}, mia?.token ?? '')
    const input = {
      providerId,
      path: '/team/in box',
      text: `${people.map(({ id }) => `@[${id}]`).join(' ')}: see\nBcc: eve@example.org`,
    }
    // The email waits until the rights of its reader have changed.
    await sql`alter table comment_notices alter column next_attempt_at set default now() + interval '1 hour'`.execute(
      app.db,
    )
    const say = 'mutation ($input: CreateCommentInput!) { createComment(input: $input) { id } }'
    await app.ask(say, { input }, token)
    const access = 'mutation ($input: UpdateMemberInput!) { updateMember(input: $input) { id } }'
    await app.ask(access, { input: { userId: leaves?.id, role: 'NONE' } }, token)
    await app.ask('mutation { updateProfile(input: { getsMentions: false }) { id } }', {}, quiet?.token ?? '')
    await sql`update comment_notices set next_attempt_at = now()`.execute(app.db)
    await until(async () => {
      const { rows } = await sql`select from comment_notices where next_attempt_at is not null`.execute(app.db)
      return rows.length === 0
    })
    const sent = (await server.received()).filter(({ recipient }) => emails.includes(recipient))
    t.match(sent, [
      {
        recipient: 'mia@example.org',
        headers: {
          subject: 'owner@example.org erwähnt Sie in einem Kommentar zu \u201ein box\u201c',
          'content-language': 'de',
        },
      },
    ])
    t.equal(sent.length, 1)
    const [{ headers, text } = { headers: { bcc: '' }, text: '' }] = sent
    t.equal(headers.bcc, undefined)
    t.match(text, '\n> @Mia @leaves@example.org @quiet@example.org: see\n> Bcc: eve@example.org\n')
    t.match(text, `https://files.example.org/files/${providerId}/team/in%20box\n`)
  })

  atNight(t, 'several servers send each message once', async t => {
    await sql`delete from rate_limits`.execute(app.db)
    const others = [await app.replica(), await app.replica()]
    const recipients = Array.from({ length: 30 }, (_, n) => `many-${n + 10}@example.org`)
    for (const from of [0, 10, 20]) await share({ recipients: recipients.slice(from, from + 10) })
    await until(async () => (await waiting()).length === 0)
    const sent = (await server.received()).flatMap(({ recipient }) => (recipient.startsWith('many') ? recipient : []))
    t.same(sent, recipients)
    for (const other of others) await other.close()
  })

  atNight(t, 'people learn that the ways to sign in to their account have changed', async t => {
    const ann = await app.register('ann.notice@example.org')
    const messages = async (count: number) => {
      const own = async () =>
        (await server.received()).filter(({ recipient }) => recipient === 'ann.notice@example.org')
      await until(async () => (await own()).length >= count || (await own()).length)
      return own()
    }
    const { totpSetup } = await app.ask('{ totpSetup { secret ticket } }', {}, ann.token)
    const input = { ticket: totpSetup.ticket, code: new TOTP({ secret: totpSetup.secret }).generate() }
    await app.graphql(
      'mutation ($input: AddTotpInput!) { addTotp(input: $input) { recoveryCodes } }',
      {
        input: { ...input, code: '000000' },
      },
      ann.token,
    )
    await app.ask('mutation ($input: AddTotpInput!) { addTotp(input: $input) { recoveryCodes } }', { input }, ann.token)
    const [added] = await messages(1)
    t.match(added, {
      headers: { subject: 'An authenticator app was added to your account', 'reply-to': undefined },
      text: /ann\.notice@example\.org at https:\/\/files\.example\.org, .*UTC, from 127\.0\.0\.1\n/,
    })
    const change = 'mutation ($input: ChangePasswordInput!) { changePassword(input: $input) { token } }'
    const passwords = { currentPassword: password, newPassword: 'another password of ann' }
    await app.ask(change, { input: passwords }, ann.token)
    await app.ask('mutation { removeTotp }', {}, ann.token)
    await app.ask('mutation ($userId: ID!) { removeSecondFactors(userId: $userId) { id } }', { userId: ann.id }, token)
    const reset = 'mutation ($userId: ID!) { createPasswordReset(userId: $userId) { token } }'
    const { createPasswordReset: link } = await app.ask(reset, { userId: ann.id }, token)
    await app.ask('mutation ($input: ResetPasswordInput!) { resetPassword(input: $input) }', {
      input: { token: link.token, newPassword: 'a third password of ann' },
    })
    const subjects = (await messages(5)).map(({ headers }) => headers.subject)
    t.same(subjects.toSorted(), [
      'All second factors of your account were removed by an administrator',
      'An authenticator app was added to your account',
      'The authenticator app of your account was removed',
      'The password of your account was changed',
      'The password of your account was set with a link from an administrator',
    ])
    await until(async () => (await app.db.selectFrom('account_notices').selectAll().execute()).length === 0)
  })

  t.test('a password is sent only over TLS, and a server without email refuses to send', async t => {
    await sql`delete from rate_limits`.execute(app.db)
    await app.close()
    const smtpUrl = server.url.replace('//', `//name:${secret}@`)
    const careful = await app.replica({ settings: { mail: { ...mail, smtpUrl } } })
    const input = { providerId, path: '/team', recipients: ['tls@example.org'] }
    await careful.ask(create, { input }, token)
    await until(async () => {
      const row = await careful.db.selectFrom('share_emails').select('attempts').executeTakeFirst()
      return row?.attempts === 1
    })
    t.notMatch(careful.logged(), secret)
    t.equal((await server.received()).filter(({ recipient }) => recipient === 'tls@example.org').length, 0)
    await careful.close()
    const sockets = new Set<Socket>()
    const silent = createServer(socket => sockets.add(socket)).listen(0, '127.0.0.1')
    t.teardown(() => silent.close())
    await once(silent, 'listening')
    const { port } = silent.address() as AddressInfo
    const patient = await app.replica({ settings: { mail: { ...mail, smtpUrl: `smtp://127.0.0.1:${port}` } } })
    await sql`update share_emails set next_attempt_at = now()`.execute(patient.db)
    await until(() => sockets.size === 1)
    await patient.close()
    t.match(patient.logged(), /"code":"EABORT"/, 'a server stops while its mail server does not answer')
    const without = await app.replica({ settings: { mail: null } })
    for (const more of [{ recipients: ['a@example.org'] }, { recipients: [], kind: 'DROP', notify: true }]) {
      const { errors } = await without.graphql(create, { input: { ...input, ...more } }, token)
      t.match(errors[0]?.message, /sends no email.*STOWAGE_SMTP_URL/)
    }
    t.same((await without.ask('{ workspace { sendsEmail } }', {}, token)).workspace, { sendsEmail: false })
    const { totpSetup } = await without.ask('{ totpSetup { secret ticket } }', {}, token)
    await without.ask(
      'mutation ($input: AddTotpInput!) { addTotp(input: $input) { recoveryCodes } }',
      { input: { ticket: totpSetup.ticket, code: new TOTP({ secret: totpSetup.secret }).generate() } },
      token,
    )
    t.same(await without.db.selectFrom('account_notices').selectAll().execute(), [], 'and nothing waits')
  })
})
