import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { Form } from 'react-aria-components'
import { Link } from 'react-router'
import { ask } from '../api/client.ts'
import { texts } from '../texts/storages.tsx'
import { Button } from '../ui/button.tsx'
import { Choices } from '../ui/choices.tsx'
import { ErrorBox } from '../ui/error-box.tsx'
import { NameField, submitting } from '../ui/field.tsx'
import { ConfigFields, problemsOf, suggestionsOf } from './config-fields.tsx'
import { useConfigForm } from './config-form.ts'
import { chosenEncryption, noEncryption } from './encryption.ts'
import { EncryptionFields } from './encryption-fields.tsx'
import { Instructions } from './instructions.tsx'
import { type ConnectedProvider, ConnectMutation, type ProviderType } from './operations.ts'
import { RecoveryDialog } from './recovery-dialog.tsx'

/**
 * Connects a storage. The server tests it first, and stores nothing if the test fails. An encrypted storage is connected once
 * somebody has kept its recovery sheet.
 */
export function ConnectForm({
  type,
  onConnected,
}: {
  type: ProviderType
  /** The form stays busy until what this returns is settled. */
  onConnected: (provider: ConnectedProvider) => unknown
}) {
  const form = useConfigForm(type.configSchema)
  const [name, setName] = useState(type.title.split(' (', 1)[0] ?? '')
  const [encryptionValues, setEncryption] = useState(noEncryption)
  const encryption = chosenEncryption(encryptionValues)
  const [isKeeping, setKeeping] = useState(false)
  // Another name needs another sheet, because the name says which storage a sheet opens.
  const onSheet = encryption && JSON.stringify({ name, encryption })
  /** The content of the sheet that somebody has kept. */
  const [kept, setKept] = useState<string | null>(null)
  const connect = useMutation({
    mutationFn: () => ask(ConnectMutation, { input: { type: type.type, name, config: form.toConfig(), encryption } }),
    onSuccess: ({ connectProvider: { provider, authorizationUrl } }) =>
      onConnected({ id: provider.id, name: provider.name, authorizationUrl: authorizationUrl ?? null }),
  })
  const problems = problemsOf(connect.error)
  const submit = () => {
    if (onSheet === null || kept === onSheet) connect.mutate()
    else setKeeping(true)
  }
  return (
    <div className={form.steps.length > 0 ? 'setup with-instructions' : 'setup'}>
      {form.choices.length > 0 && (
        <div className="setup-choices">
          {form.choices.map(({ title, options }, index) => (
            <Choices
              key={title}
              label={title}
              choices={options.map((option, number) => ({
                value: String(number),
                title: option.title,
                ...(option.description !== null && { help: option.description }),
              }))}
              value={String(form.chosen[index])}
              onChange={picked => {
                form.choose(index, Number(picked))
                connect.reset()
              }}
            />
          ))}
        </div>
      )}
      <Instructions steps={form.steps} title={type.title} />
      <Form className="connect-form" validationErrors={problems} onSubmit={submitting(submit)}>
        <ConfigFields
          type={type.type}
          fields={form.fields}
          values={form.values}
          onChange={form.change}
          problems={problems}
          suggestions={suggestionsOf(connect.error)}
          onAccept={(name, value) => {
            form.change(name, value)
            connect.reset()
          }}
        />
        <NameField description={texts.nameHelp} value={name} onChange={setName} />
        <EncryptionFields
          values={encryptionValues}
          onChange={changes => setEncryption({ ...encryptionValues, ...changes })}
        />
        {connect.error && (
          <div className="failed-test">
            <h2>{texts.testFailed}</h2>
            <ErrorBox error={connect.error} />
          </div>
        )}
        <div className="inline-row">
          <Button type="submit" variant="primary" isPending={connect.isPending}>
            {connect.isPending ? texts.testing : texts.connect}
          </Button>
          <Link className="button" to="/connect">
            {texts.otherType}
          </Link>
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
    </div>
  )
}
