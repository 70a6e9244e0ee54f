import { useMutation, useQueryClient } from '@tanstack/react-query'
import { useState } from 'react'
import { ask } from '../../api/client.ts'
import { queryKeys } from '../../api/query-keys.ts'
import { usePermissions, useSession } from '../../api/session.ts'
import { idsOf } from '../../api/shares.ts'
import { texts } from '../../texts/shares.tsx'
import { Choices, Switch } from '../../ui/choices.tsx'
import { FormDialog } from '../../ui/dialog.tsx'
import { TextField } from '../../ui/field.tsx'
import { Icon } from '../../ui/icons.tsx'
import { type Recipient, RecipientField, useFoundRecipients } from '../../ui/recipient-field.tsx'
import { changedSettings, ShareFields, useShareTexts } from '../../ui/share-fields.tsx'
import { CreateShareMutation, type PresentShare, usePresentShares } from './operations.ts'
import { PresentShares } from './present.tsx'

type Way = 'people' | 'link'
type ShareKind = 'VIEW' | 'DROP'

/** A share that was made just now. */
export interface ReadyShare {
  url: string
  /** The names of the people and groups who can open it; null for everybody who has the link. */
  names: readonly string[] | null
}

export function ShareForm({
  title,
  providerId,
  paths,
  canReceiveFiles,
  onReady,
  onRevoke,
  onClose,
}: {
  title: string
  providerId: string
  paths: readonly string[]
  /** Whether one folder is shared. */
  canReceiveFiles: boolean
  onReady: (ready: ReadyShare) => void
  onRevoke: (share: PresentShare) => void
  onClose: () => void
}) {
  const client = useQueryClient()
  const { canWrite } = usePermissions()
  const { sendsEmail } = useSession().workspace
  const { data: somebody } = useFoundRecipients('')
  const { data: present = [] } = usePresentShares(providerId, paths)
  const isAlone = somebody?.length === 0
  const [chosenWay, setWay] = useState<Way | null>(null)
  const way = chosenWay ?? (isAlone ? 'link' : 'people')
  const [chosenKind, setKind] = useState<ShareKind>('VIEW')
  const kind = way === 'people' ? 'VIEW' : chosenKind
  const [people, setPeople] = useState<readonly Recipient[]>([])
  const [emailsPeople, setEmailsPeople] = useState(true)
  const [addresses, setAddresses] = useState('')
  const { stored, values, change } = useShareTexts(null, { notify: sendsEmail })
  const create = useMutation({
    mutationFn: async () => {
      const [path = '/', ...morePaths] = paths
      const audience =
        way === 'people' ? toAudience(people, sendsEmail && emailsPeople) : { recipients: addressesIn(addresses) }
      const settings = changedSettings(kind, values, stored)
      const more = morePaths.length > 0 ? { morePaths } : {}
      const { createShare } = await ask(CreateShareMutation, {
        input: { providerId, path, kind, ...settings, ...more, ...audience },
      })
      return createShare
    },
    onSuccess: ({ url }) => {
      void client.invalidateQueries({ queryKey: queryKeys.shares })
      onReady({ url, names: way === 'people' ? people.map(({ name }) => name) : null })
    },
  })
  return (
    <FormDialog
      title={title}
      size="large"
      action={way === 'people' ? texts.share : texts.create}
      submit={create}
      isValid={way === 'link' || people.length > 0}
      onClose={onClose}
    >
      <div className="share-ways">
        <Choices
          label={texts.shareWith}
          value={way}
          onChange={setWay}
          choices={[
            { value: 'people', title: texts.people, help: texts.peopleWayHelp, image: <Icon name="people" /> },
            { value: 'link', title: texts.link, help: texts.linkWayHelp, image: <Icon name="link" /> },
          ]}
        />
      </div>
      {way === 'people' && isAlone && <p className="help">{texts.nobodyElse}</p>}
      {way === 'people' && !isAlone && (
        <>
          <RecipientField
            label={texts.chooser}
            description={texts.peopleHelp}
            chosen={people}
            onChange={setPeople}
            present={idsIn(present)}
          />
          {sendsEmail && (
            <div className="share-email">
              <Switch isSelected={emailsPeople} onChange={setEmailsPeople}>
                {texts.emailUsers}
              </Switch>
              {people.some(each => each.kind === 'GROUP') && <p className="help">{texts.emailUsersHelp}</p>}
            </div>
          )}
        </>
      )}
      {way === 'link' && canReceiveFiles && canWrite && (
        <Choices
          label={texts.kind}
          choices={(['VIEW', 'DROP'] as const).map(value => ({
            value,
            title: texts.kindTitles[value],
            help: texts.kindHelp[value],
          }))}
          value={chosenKind}
          onChange={setKind}
        />
      )}
      {way === 'link' && sendsEmail && (
        <TextField
          label={texts.recipients}
          description={texts.recipientsHelp}
          value={addresses}
          onChange={setAddresses}
          autoComplete="off"
        />
      )}
      {!(way === 'people' && isAlone) && (
        <ShareFields
          kind={kind}
          isNew
          isForPeople={way === 'people'}
          sendsEmail={sendsEmail}
          values={values}
          change={change}
        />
      )}
      <PresentShares shares={present} onRevoke={onRevoke} />
    </FormDialog>
  )
}

function toAudience(people: readonly Recipient[], emailUsers: boolean) {
  return { userIds: idsOf(people, 'USER'), groupIds: idsOf(people, 'GROUP'), emailUsers }
}

function addressesIn(text: string): string[] {
  return text.split(',').flatMap(address => address.trim() || [])
}

function idsIn(shares: readonly PresentShare[]): ReadonlySet<string> {
  return new Set(shares.flatMap(({ recipients }) => recipients?.map(({ id }) => id) ?? []))
}
