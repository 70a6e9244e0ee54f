import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { Form } from 'react-aria-components'
import { ask } from '../../api/request.ts'
import { ConfigFields } from '../../connect/config-fields.tsx'
import { type Config, movedFields, toChanges } from '../../connect/config-schema.ts'
import { problemsOf, useConfigForm } from '../../connect/use-config-form.ts'
import { Button } from '../../ui/button.tsx'
import { Checkbox } from '../../ui/checkbox.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { ErrorBox } from '../../ui/error-box.tsx'
import { TextField } from '../../ui/field.tsx'
import { type Provider, UpdateMutation } from './operations.ts'

/** Sends only what was changed; the server tries it before it keeps it. */
export function EditDialog({
  provider,
  onSaved,
  onClose,
}: {
  provider: Provider
  onSaved: () => Promise<void>
  onClose: () => void
}) {
  const stored = provider.config as Config
  const { fields, values, change } = useConfigForm(provider.type.configSchema, stored)
  const [name, setName] = useState(provider.name)
  const [forgotten, setForgotten] = useState<readonly string[]>([])
  const save = useMutation({
    mutationFn: async () => {
      const config = {
        ...toChanges(fields, values, stored),
        ...Object.fromEntries(forgotten.map(secret => [secret, null])),
      }
      const input = {
        id: provider.id,
        ...(name !== provider.name && { name }),
        ...(Object.keys(config).length > 0 && { config }),
      }
      await ask(UpdateMutation, { input })
      await onSaved()
    },
    onSuccess: onClose,
  })
  const problems = problemsOf(save.error)
  const moved = movedFields(fields, values, stored).map(({ title }) => title)
  const hasSecrets = fields.some(({ isSecret }) => isSecret)
  const optionalSecrets = fields.filter(({ isSecret, isRequired }) => isSecret && !isRequired)
  return (
    <Dialog title={`Edit “${provider.name}”`} onClose={onClose} isBusy={save.isPending}>
      <Form
        validationErrors={problems}
        onSubmit={event => {
          event.preventDefault()
          save.mutate()
        }}
      >
        <TextField label="Name" value={name} onChange={setName} isRequired maxLength={200} autoComplete="off" />
        {moved.length > 0 && (hasSecrets || provider.type.needsAuthorization) && (
          <p className="notice" role="status">
            {hasSecrets && `Enter the secrets again, as you changed: ${moved.join(', ')}. `}
            {provider.type.needsAuthorization && 'If the storage needed consent, somebody has to give it again.'}
          </p>
        )}
        <ConfigFields
          fields={fields}
          values={values}
          onChange={change}
          problems={problems}
          secrets={moved.length > 0 ? 'again' : 'kept'}
        />
        {optionalSecrets.map(({ name, title }) => (
          <Checkbox
            key={name}
            isSelected={forgotten.includes(name)}
            onChange={isForgotten =>
              setForgotten(isForgotten ? [...forgotten, name] : forgotten.filter(other => other !== name))
            }
          >
            Forget what is stored: {title}
          </Checkbox>
        ))}
        {save.error && <ErrorBox error={save.error} />}
        <div className="dialog-actions">
          <Button onPress={onClose} isDisabled={save.isPending}>
            Cancel
          </Button>
          <Button type="submit" variant="primary" isPending={save.isPending}>
            {save.isPending ? 'Testing …' : 'Save'}
          </Button>
        </div>
      </Form>
    </Dialog>
  )
}
