import { useMutation } from '@tanstack/react-query'
import { useState } from 'react'
import { ask } from '../../api/client.ts'
import type { StorageLocation } from '../../api/locations.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/settings.tsx'
import { Checkbox, Choices, Switch } from '../../ui/choices.tsx'
import { CopyButton } from '../../ui/copy-button.tsx'
import { Dialog, DialogEnd, FormDialog } from '../../ui/dialog.tsx'
import { NameField, TextField } from '../../ui/field.tsx'
import { FolderPicker, type PickableProvider } from '../../ui/folder-picker.tsx'
import { CreateWebhookMutation, type EventName, UpdateWebhookMutation, type Webhook } from './operations.ts'

const usualEvents: EventName[] = [
  'FILE_UPLOADED',
  'ENTRY_RENAMED',
  'ENTRY_MOVED',
  'ENTRY_COPIED',
  'ENTRY_DELETED',
  'JOB_ENDED',
]

/** Creates a webhook, or changes one. The location of a webhook cannot be changed. */
export function WebhookDialog({
  webhook,
  providers,
  onSaved,
  onClose,
}: {
  /** Null for a new one. */
  webhook: Webhook | null
  providers: readonly PickableProvider[]
  /** @param secret the secret of a new webhook */
  onSaved: (secret: string | null) => void
  onClose: () => void
}) {
  const [name, setName] = useState(webhook?.name ?? '')
  const [url, setUrl] = useState(webhook?.url ?? '')
  const [events, setEvents] = useState<EventName[]>(webhook?.events ?? usualEvents)
  const [isEnabled, setIsEnabled] = useState(webhook?.enabled ?? true)
  const [isLimited, setIsLimited] = useState(false)
  const [location, setLocation] = useState<StorageLocation | null>(null)
  const submit = useMutation({
    mutationFn: async () => {
      if (events.length === 0) throw new Error(texts.chooseEvent)
      if (webhook) {
        await ask(UpdateWebhookMutation, { input: { id: webhook.id, name, url, events, enabled: isEnabled } })
        return null
      }
      if (isLimited && !location) throw new Error(texts.chooseFolder)
      const input = { name, url, events, location: isLimited ? location : null }
      return (await ask(CreateWebhookMutation, { input })).createWebhook.secret
    },
    onSuccess: onSaved,
  })
  return (
    <FormDialog
      title={webhook ? common.editTitle(webhook.name) : texts.newWebhook}
      size="large"
      action={webhook ? common.save : texts.createWebhook}
      submit={submit}
      onClose={onClose}
    >
      <NameField value={name} onChange={setName} autoFocus />
      <TextField
        label={texts.url}
        type="url"
        description={texts.urlHelp}
        value={url}
        onChange={setUrl}
        isRequired
        maxLength={2000}
        autoComplete="off"
      />
      <h3>{texts.events}</h3>
      <EventChoices events={events} onChange={setEvents} />
      {webhook && (
        <Switch isSelected={isEnabled} onChange={setIsEnabled}>
          {texts.enabled}
        </Switch>
      )}
      {!webhook && (
        <>
          <Choices
            label={texts.location}
            value={isLimited ? 'folder' : 'all'}
            onChange={picked => setIsLimited(picked === 'folder')}
            choices={[
              { value: 'all', title: texts.everywhere, help: texts.everywhereHelp },
              { value: 'folder', title: texts.oneFolder, help: texts.oneFolderHelp },
            ]}
          />
          {isLimited && <FolderPicker providers={providers} value={location} onChange={setLocation} />}
        </>
      )}
    </FormDialog>
  )
}

export const eventTitles: Record<EventName, string> = texts.eventTitles
const names = Object.keys(eventTitles) as EventName[]

function EventChoices({ events, onChange }: { events: readonly EventName[]; onChange: (events: EventName[]) => void }) {
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset brings its own border and legend
    <div role="group" aria-label={texts.events} className="event-list">
      {names.map(name => (
        <Checkbox
          key={name}
          isSelected={events.includes(name)}
          onChange={isChosen => onChange(names.filter(each => (each === name ? isChosen : events.includes(each))))}
        >
          {eventTitles[name]}
        </Checkbox>
      ))}
    </div>
  )
}

/** Shows a signing secret. Only its button closes this dialog, because the secret cannot be shown again. */
export function SecretDialog({ secret, onClose }: { secret: string; onClose: () => void }) {
  return (
    <Dialog title={texts.copySecretNow} onClose={onClose} isBusy size="large">
      <p>{texts.secretHelp}</p>
      <code className="secret">{secret}</code>
      <DialogEnd label={common.done} onClose={onClose}>
        <CopyButton text={secret} label={texts.copySecret} />
      </DialogEnd>
    </Dialog>
  )
}
