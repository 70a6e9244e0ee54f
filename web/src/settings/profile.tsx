import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Form } from 'react-aria-components'
import { ask } from '../api/client.ts'
import { workConcurrently } from '../api/concurrency.ts'
import { graphql, type ResultOf } from '../api/graphql.ts'
import { queryKeys } from '../api/query-keys.ts'
import { useSession } from '../api/session.ts'
import { texts as commentTexts } from '../texts/comments.ts'
import { common } from '../texts/common.ts'
import { formatList, formatMinute } from '../texts/format.ts'
import { texts as groupTexts } from '../texts/groups.tsx'
import { texts as quotaTexts } from '../texts/quotas.ts'
import { texts as securityTexts } from '../texts/security.tsx'
import { texts } from '../texts/settings.tsx'
import { Button } from '../ui/button.tsx'
import { Switch } from '../ui/choices.tsx'
import { Confirm } from '../ui/dialog.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { NewPasswordField, submitting, TextField } from '../ui/field.tsx'
import { LanguageSelect } from '../ui/language-select.tsx'
import { LoadState } from '../ui/loading.tsx'
import { PageTitle } from '../ui/page.tsx'
import { QuotaBars } from '../ui/quota-bars.tsx'
import { RowTable } from '../ui/row-table.tsx'
import { Time } from '../ui/time.tsx'
import { notify } from '../ui/toasts.tsx'
import { Applications } from './applications/applications.tsx'
import { browserText } from './browser-name.ts'
import { Identities } from './identities.tsx'

export function Profile() {
  const { user, scopes, providerAccess } = useSession().viewer
  return (
    <>
      <PageTitle>{texts.profile}</PageTitle>
      <h1>{texts.profile}</h1>
      <dl className="facts">
        <dt>{texts.email}</dt>
        <dd>{user.email}</dd>
        <dt>{texts.role}</dt>
        <dd>
          {scopes.length > 0 && !providerAccess.all
            ? texts.someStorages(texts.roles[user.role])
            : texts.roles[user.role]}
        </dd>
        {user.groups.length > 0 && (
          <>
            <dt>{groupTexts.groups}</dt>
            <dd>{formatList(user.groups.map(({ name }) => name))}</dd>
          </>
        )}
      </dl>
      <OwnQuota />
      {user.role === 'NONE' && <p className="notice">{texts.noRole}</p>}
      <NameForm name={user.name} />
      <LanguageSelect />
      <MentionSwitch />
      <h2>{texts.password}</h2>
      <PasswordForm email={user.email} />
      <Identities />
      <Applications />
      <h2>{texts.sessions}</h2>
      <p className="help">{texts.sessionsHelp}</p>
      <Sessions />
    </>
  )
}

const OwnQuotaQuery = graphql(`
  query OwnQuota {
    viewer { user { quotaRule { bytes files usedBytes usedFiles isExact } } }
  }
`)

/** The quota of the person, if an administrator has set one. */
function OwnQuota() {
  const { scopes } = useSession().viewer
  const { data } = useQuery({
    queryKey: [...queryKeys.session, 'quota'],
    queryFn: ({ signal }) => ask(OwnQuotaQuery, {}, { signal }),
    enabled: scopes.length > 0,
  })
  const quota = data?.viewer.user.quotaRule
  return (
    quota && (
      <>
        <h2>{quotaTexts.ownQuota}</h2>
        <QuotaBars quota={quota} />
      </>
    )
  )
}

const UpdateProfileMutation = graphql(`
  mutation UpdateProfile($input: UpdateProfileInput!) {
    updateProfile(input: $input) { id }
  }
`)

function NameForm({ name: current }: { name: string | null }) {
  const client = useQueryClient()
  const [name, setName] = useState(current ?? '')
  const save = useMutation({
    mutationFn: async () => {
      await ask(UpdateProfileMutation, { input: { name: name.trim() || null } })
      await Promise.all([queryKeys.session, queryKeys.members].map(queryKey => client.invalidateQueries({ queryKey })))
    },
    onSuccess: () => notify(common.saved),
  })
  return (
    <Form className="card" onSubmit={submitting(() => save.mutate())}>
      <TextField
        label={common.name}
        autoComplete="name"
        value={name}
        onChange={setName}
        maxLength={200}
        description={texts.ownNameHelp}
      />
      {save.error && <ErrorBox error={save.error} />}
      <div className="inline-row">
        <Button type="submit" isPending={save.isPending} isDisabled={name.trim() === (current ?? '')}>
          {common.save}
        </Button>
      </div>
    </Form>
  )
}

/** Whether comments that mention the person are sent by email, if the server sends any. */
function MentionSwitch() {
  const { viewer, workspace } = useSession()
  const client = useQueryClient()
  const save = useMutation({
    mutationFn: async (getsMentions: boolean) => {
      await ask(UpdateProfileMutation, { input: { getsMentions } })
      await client.invalidateQueries({ queryKey: queryKeys.session })
    },
  })
  if (!workspace.sendsEmail) return null
  const isOn = save.isPending ? save.variables : viewer.user.getsMentions === true
  return (
    <>
      <Switch isSelected={isOn} onChange={value => save.mutate(value)}>
        {commentTexts.getsMentions}
      </Switch>
      {save.error && <ErrorBox error={save.error} />}
    </>
  )
}

/** The session of this browser continues, so its cookie stays valid. */
const ChangePasswordMutation = graphql(`
  mutation ChangePassword($input: ChangePasswordInput!) {
    changePassword(input: $input) { expiresAt }
  }
`)

function PasswordForm({ email }: { email: string }) {
  const client = useQueryClient()
  const [currentPassword, setCurrentPassword] = useState('')
  const [newPassword, setNewPassword] = useState('')
  const change = useMutation({
    mutationFn: () => ask(ChangePasswordMutation, { input: { currentPassword, newPassword } }),
    onSuccess: () => {
      setCurrentPassword('')
      setNewPassword('')
      notify(texts.passwordChanged)
      return client.invalidateQueries({ queryKey: queryKeys.sessions })
    },
  })
  return (
    <Form className="card" onSubmit={submitting(() => change.mutate())}>
      {/* This field tells password managers whose password changes. */}
      <input type="email" autoComplete="username" value={email} readOnly hidden />
      <TextField
        label={texts.currentPassword}
        type="password"
        autoComplete="current-password"
        value={currentPassword}
        onChange={setCurrentPassword}
        isRequired
      />
      <NewPasswordField
        label={texts.newPassword}
        value={newPassword}
        onChange={setNewPassword}
        description={texts.newPasswordHelp}
      />
      {change.error && <ErrorBox error={change.error} />}
      <div className="inline-row">
        <Button type="submit" variant="primary" isPending={change.isPending}>
          {texts.changePassword}
        </Button>
      </div>
    </Form>
  )
}

const SessionsQuery = graphql(`
  query Sessions {
    sessions { id createdAt expiresAt address userAgent factors current }
  }
`)

const RevokeSessionMutation = graphql(`
  mutation RevokeSession($id: ID!) {
    revokeSession(id: $id)
  }
`)

type OpenSession = ResultOf<typeof SessionsQuery>['sessions'][number]

/** The number of sessions that are ended at the same time. */
const endedAtOnce = 4

/** Ends sessions, a few at a time. One that has ended meanwhile is no error. @throws StowageError the first one */
async function endSessions(sessions: readonly OpenSession[]): Promise<void> {
  const { failures } = await workConcurrently(sessions, endedAtOnce, ({ id }) => ask(RevokeSessionMutation, { id }))
  const [first] = failures
  if (first) throw first.error
}

function Sessions() {
  const client = useQueryClient()
  const query = useQuery({
    queryKey: queryKeys.sessions,
    queryFn: ({ signal }) => ask(SessionsQuery, {}, { signal }),
  })
  const { data } = query
  const [ending, setEnding] = useState<readonly OpenSession[] | null>(null)
  const others = data?.sessions.filter(({ current }) => !current) ?? []
  const [first] = ending ?? []
  return (
    <>
      <LoadState query={query} label={texts.loadingSessions} />
      {data && (
        <RowTable label={texts.sessions} columns={[texts.browser, texts.signedIn, common.expires]}>
          {data.sessions.map(session => (
            <Row key={session.id} session={session} onEnd={() => setEnding([session])} />
          ))}
        </RowTable>
      )}
      {others.length > 1 && (
        <Button variant="danger" onPress={() => setEnding(others)}>
          {texts.endOthers}
        </Button>
      )}
      {ending && first && (
        <Confirm
          title={ending.length === 1 ? texts.endSessionTitle : texts.endOthersTitle(ending.length)}
          action={ending.length === 1 ? texts.endSession : texts.endOthers}
          onConfirm={async () => {
            try {
              await endSessions(ending)
            } finally {
              await client.invalidateQueries({ queryKey: queryKeys.sessions })
            }
          }}
          onClose={() => setEnding(null)}
        >
          <p>{ending.length === 1 ? texts.endSessionHelp(formatMinute(first.createdAt)) : texts.endOthersHelp}</p>
        </Confirm>
      )}
    </>
  )
}

function Row({ session, onEnd }: { session: OpenSession; onEnd: () => void }) {
  const { id, createdAt, expiresAt, address, userAgent, factors, current } = session
  const nameId = `session-${id}`
  return (
    <tr>
      <td id={nameId}>
        <div className="main-cell" title={userAgent ?? undefined}>
          {browserText(userAgent)}
        </div>
        {address && <div className="help">{address}</div>}
        {factors.length > 0 && (
          <div className="help">{formatList(factors.map(factor => securityTexts.factors[factor]))}</div>
        )}
      </td>
      <td data-label={texts.signedIn}>{formatMinute(createdAt)}</td>
      <td data-label={common.expires}>
        <Time at={expiresAt} as="distance" />
      </td>
      <td className="actions-cell">
        <div className="actions">
          {current ? (
            <span className="badge good">{texts.thisBrowser}</span>
          ) : (
            <Button variant="danger" onPress={onEnd} aria-describedby={nameId}>
              {texts.endSession}
            </Button>
          )}
        </div>
      </td>
    </tr>
  )
}
