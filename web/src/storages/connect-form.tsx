import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { Form } from 'react-aria-components'
import { urlOf } from '../api/base-path.ts'
import { ask } from '../api/request.ts'
import { common } from '../texts/common.ts'
import { texts } from '../texts/storages.tsx'
import { Button } from '../ui/button.tsx'
import { CopyButton } from '../ui/copy-button.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { TextField } from '../ui/field.tsx'
import { ConfigFields } from './config-fields.tsx'
import { toConfig } from './config-schema.ts'
import { type ConnectedProvider, ConnectMutation, type ProviderType } from './operations.ts'
import { problemsOf, suggestionsOf, useConfigForm } from './use-config-form.ts'

/** Connects a storage. The server tests it first, and stores nothing if the test fails. */
export function ConnectForm({
  type,
  onConnected,
}: {
  type: ProviderType
  onConnected: (provider: ConnectedProvider) => void
}) {
  const { fields, values, change } = useConfigForm(type.configSchema)
  const [name, setName] = useState(type.title.split(' (', 1)[0] ?? '')
  const connect = useMutation({
    mutationFn: () => ask(ConnectMutation, { input: { type: type.type, name, config: toConfig(fields, values) } }),
    onSuccess: ({ connectProvider: { provider, authorizationUrl } }) =>
      onConnected({ id: provider.id, name: provider.name, authorizationUrl: authorizationUrl ?? null }),
  })
  const problems = problemsOf(connect.error)
  return (
    <Form
      className="card connect-form"
      validationErrors={problems}
      onSubmit={event => {
        event.preventDefault()
        connect.mutate()
      }}
    >
      <TextField
        label={common.name}
        description={texts.nameHelp}
        value={name}
        onChange={setName}
        isRequired
        maxLength={200}
        autoComplete="off"
      />
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
      {connect.error && <ErrorBox error={connect.error} />}
      <div className="row-of">
        <Button type="submit" variant="primary" isPending={connect.isPending}>
          {connect.isPending ? texts.testing : texts.connect}
        </Button>
        <span className="help" role="status">
          {connect.isPending && texts.testingHelp}
        </span>
      </div>
    </Form>
  )
}

function RedirectAddress() {
  const address = location.origin + urlOf('/webhook/callback')
  return (
    <div className="notice">
      <p>{texts.redirectHelp}</p>
      <div className="row-of">
        <code className="address">{address}</code>
        <CopyButton text={address} />
      </div>
    </div>
  )
}
