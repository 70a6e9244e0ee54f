import { useMutation, useQuery, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { Form } from 'react-aria-components'
import { Link, useNavigate } from 'react-router'
import { ask, urlOf } from '../api/client.ts'
import { queryKeys } from '../api/query-keys.ts'
import { usePermissions } from '../api/session.ts'
import { common } from '../texts/common.ts'
import { texts } from '../texts/storages.tsx'
import { Button } from '../ui/button.tsx'
import { Choices } from '../ui/choices.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { NameField, submitting } from '../ui/field.tsx'
import { LoadState } from '../ui/loading.tsx'
import { PageTitle } from '../ui/page.tsx'
import { StorageLogo } from '../ui/storage-logo.tsx'
import { notify } from '../ui/toasts.tsx'
import { ConfigFields, problemsOf, suggestionsOf, useConfigForm } from './config-fields.tsx'
import { toConfig } from './config-schema.ts'
import { Consent } from './consent.tsx'
import { chosenEncryption, noEncryption } from './encryption.ts'
import { EncryptionFields } from './encryption-fields.tsx'
import { type ConnectedProvider, ConnectMutation, type ProviderType, ProviderTypesQuery } from './operations.ts'
import { RecoveryDialog } from './recovery-dialog.tsx'

export function ConnectPage() {
  const { isUnrestricted } = usePermissions()
  return (
    <main className="narrow-page connect">
      <PageTitle>{texts.addStorage}</PageTitle>
      {isUnrestricted ? (
        <Connecting />
      ) : (
        <>
          <h1>{texts.addStorage}</h1>
          <p>{texts.notAllowed}</p>
          <p>
            <Link to="/files">{texts.toFiles}</Link>
          </p>
        </>
      )}
    </main>
  )
}

function Connecting() {
  const query = useQuery({
    queryKey: [...queryKeys.providers, 'types'],
    queryFn: ({ signal }) => ask(ProviderTypesQuery, {}, { signal }),
    // A refetch while the form is open would discard what was typed.
    staleTime: Number.POSITIVE_INFINITY,
    refetchOnMount: 'always',
  })
  const client = useQueryClient()
  const navigate = useNavigate()
  const [chosenType, setChosenType] = useState<string | null>(null)
  const [awaitingConsent, setAwaitingConsent] = useState<{ provider: ConnectedProvider; type: ProviderType } | null>(
    null,
  )
  const { data } = query
  if (!data) return <LoadState query={query} label={texts.loadingTypes} />

  const types = data.providerTypes
  const type = types.find(({ type }) => type === chosenType) ?? types[0]
  const finish = async ({ id, name }: ConnectedProvider) => {
    notify(texts.isConnected(name))
    await client.invalidateQueries({ queryKey: queryKeys.providers })
    await navigate(`/files/${id}`)
  }
  if (awaitingConsent) {
    const { provider } = awaitingConsent
    return (
      <>
        <h1>{texts.authorizeTitle(provider.name)}</h1>
        <Consent
          providerId={provider.id}
          vendor={awaitingConsent.type.title}
          startUrl={provider.authorizationUrl}
          onConnected={() => void finish(provider)}
        />
      </>
    )
  }
  const isFirst = data.providers.length === 0
  return (
    <>
      <h1>{isFirst ? texts.addFirstStorage : texts.addStorage}</h1>
      <p className="help">{texts.addHelp}</p>
      {!type ? (
        <ErrorBox error={texts.noTypes} />
      ) : (
        <>
          <Choices
            label={texts.whereFiles}
            choices={types.map(({ type, title, builtIn }) => ({
              value: type,
              title,
              image: <StorageLogo type={type} />,
              help: texts.typeHelp[type] ?? (builtIn ? undefined : texts.addedAdapter),
            }))}
            value={type.type}
            onChange={setChosenType}
          />
          <ConnectForm
            key={type.type}
            type={type}
            onConnected={provider => {
              if (provider.authorizationUrl === null) void finish(provider)
              else setAwaitingConsent({ provider, type })
            }}
          />
        </>
      )}
      <p className="aside">
        <Link to="/files">{isFirst ? common.skipForNow : texts.backToFiles}</Link>
      </p>
    </>
  )
}

/**
 * Connects a storage. The server tests it first, and stores nothing if the test fails. An encrypted storage is connected once
 * somebody has kept its recovery sheet.
 */
function ConnectForm({
  type,
  onConnected,
}: {
  type: ProviderType
  onConnected: (provider: ConnectedProvider) => void
}) {
  const { fields, values, change } = useConfigForm(type.configSchema)
  const [name, setName] = useState(type.title.split(' (', 1)[0] ?? '')
  const [encryptionValues, setEncryption] = useState(noEncryption)
  const encryption = chosenEncryption(encryptionValues)
  const [isKeeping, setKeeping] = useState(false)
  // Another name needs another sheet, because the name says which storage a sheet opens.
  const onSheet = encryption && JSON.stringify({ name, encryption })
  /** The content of the sheet that somebody has kept. */
  const [kept, setKept] = useState<string | null>(null)
  const connect = useMutation({
    mutationFn: () =>
      ask(ConnectMutation, { input: { type: type.type, name, config: toConfig(fields, values), encryption } }),
    onSuccess: ({ connectProvider: { provider, authorizationUrl } }) =>
      onConnected({ id: provider.id, name: provider.name, authorizationUrl: authorizationUrl ?? null }),
  })
  const problems = problemsOf(connect.error)
  const submit = () => {
    if (onSheet === null || kept === onSheet) connect.mutate()
    else setKeeping(true)
  }
  return (
    <>
      <Form className="card connect-form" validationErrors={problems} onSubmit={submitting(submit)}>
        <NameField description={texts.nameHelp} value={name} onChange={setName} />
        {type.needsAuthorization && <RedirectAddress />}
        <ConfigFields
          fields={fields}
          values={values}
          onChange={change}
          problems={problems}
          suggestions={suggestionsOf(connect.error)}
          onAccept={(name, value) => {
            change(name, value)
            connect.reset()
          }}
        />
        <EncryptionFields
          values={encryptionValues}
          onChange={changes => setEncryption({ ...encryptionValues, ...changes })}
        />
        {connect.error && <ErrorBox error={connect.error} />}
        <div className="inline-row">
          <Button type="submit" variant="primary" isPending={connect.isPending}>
            {connect.isPending ? texts.testing : texts.connect}
          </Button>
          <span className="help" role="status">
            {connect.isPending && texts.testingHelp}
          </span>
        </div>
      </Form>
      {/* Outside of the form, which would take the submission of the one in the dialog for its own. */}
      {encryption && isKeeping && (
        <RecoveryDialog
          encryption={encryption}
          name={name}
          type={type.title}
          onKept={() => {
            setKept(onSheet)
            setKeeping(false)
            connect.mutate()
          }}
          onClose={() => setKeeping(false)}
        />
      )}
    </>
  )
}

function RedirectAddress() {
  const address = location.origin + urlOf('/webhook/callback')
  return (
    <div className="notice">
      <p>{texts.redirectHelp}</p>
      <div className="inline-row">
        <code className="address">{address}</code>
        <CopyButton text={address} />
      </div>
    </div>
  )
}
