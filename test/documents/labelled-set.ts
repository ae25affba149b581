// A small library, and questions with the document that answers each.

export const library: Readonly<Record<string, string>> = {
  "refunds.md":
    "# Refund policy\n\nCustomers may return goods within 30 days and are refunded in full.\n\n## Late returns\n\nAfter 30 days we offer store credit only.",
  "shipping.md": "# Shipping\n\nParcels leave our warehouse within two days. Delivery to islands takes a week longer.",
  "holidays.md": "# Annual leave\n\nEvery employee has 25 days of paid holiday. Unused days lapse at the end of March.",
  "sick-leave.md":
    "# Sick leave\n\nTell your manager before ten. A doctor's certificate is needed from the fourth day.",
  "expenses.md":
    "# Travel expenses\n\nSubmit receipts within a month. Reimbursement is paid with the next salary. Taxis need a reason.",
  "onboarding.md": "# First week\n\nNew colleagues get a laptop, a badge and a buddy who shows them around the office.",
  "passwords.txt":
    "Passwords have at least fourteen characters. Use the password manager. Two-factor authentication is mandatory.",
  "vpn.md": "# Remote access\n\nConnect with the VPN client before you open internal sites from home.",
  "backup.md":
    "# Backups\n\nDatabases are backed up nightly and kept for 90 days. Restore drills take place each quarter.",
  "incident.md": "# Incident response\n\nWhoever notices an outage pages the engineer on call and opens a channel.",
  "deploy.md":
    "# Deployment\n\nMerges to main are rolled out to staging, then to production after approval. Roll back with one click.",
  "style.md": "# Code style\n\nFormat with the linter. Functions stay short. Comments give reasons.",
  "api-errors.md":
    "# Error codes\n\n## E1042\n\nThe token has expired: sign in again.\n\n## E1043\n\nThe quota is used up: wait an hour.",
  "pricing.md": "# Prices\n\nThe basic plan costs 9 euros a month, the team plan 29. Students pay half.",
  "invoices.md": "# Billing\n\nInvoices are sent by e-mail on the first of the month. Pay by card or bank transfer.",
  "privacy.md":
    "# Privacy\n\nPersonal data is erased on request within 30 days. We never sell it. Write to the data protection officer.",
  "cafeteria.txt": "The canteen is open from eleven to two. Vegetarian and vegan dishes every day. Soup on Fridays.",
  "parking.txt":
    "There are forty parking spaces behind the building. Electric cars can be charged at spaces one to six.",
  "fire.md":
    "# Evacuation\n\nWhen the alarm rings, leave by the nearest stairs and gather in the car park. Do not use lifts.",
  "meeting-rooms.md": "# Meeting rooms\n\nBook rooms in the calendar. The large one seats twenty and has a projector.",
  "recruiting.md": "# Hiring\n\nCandidates have two interviews and a work sample. Referrals are rewarded with a bonus.",
  "pension.md": "# Pension scheme\n\nThe company matches contributions up to five percent of your pay.",
  "cafe-francais.md": "# Café à Genève\n\nLe café près du lac sert des croûtons et une fondue le mercredi.",
  "tokyo.md": "# 東京支店\n\n東京支店の営業時間は午前九時から午後六時までです。返品は三十日以内に受け付けます。",
  "strasse.md": "# Anfahrt\n\nDas Büro liegt in der Hauptstraße 5, zwei Minuten vom Bahnhof. Grüße vom Empfang!",
};

export const labelled: readonly (readonly [query: string, document: string])[] = [
  ["refund policy", "refunds.md"],
  ["can I return something after the deadline", "refunds.md"],
  ["how long does delivery take", "shipping.md"],
  ["how many vacation days: paid holiday", "holidays.md"],
  ["what do I do when I am sick", "sick-leave.md"],
  ["reimburse taxi receipts", "expenses.md"],
  ["two factor authentication", "passwords.txt"],
  ["conect to vpn from home", "vpn.md"],
  ["restoring a database backup", "backup.md"],
  ["who is paged during outages", "incident.md"],
  ["rollback production deployment", "deploy.md"],
  ["E1042", "api-errors.md"],
  ["student price of the basic plan", "pricing.md"],
  ["when are invoices sent", "invoices.md"],
  ["erasing personal data", "privacy.md"],
  ["vegetarian food canteen", "cafeteria.txt"],
  ["charging electric cars", "parking.txt"],
  ["fire alarm", "fire.md"],
  ["book a meeting room with projector", "meeting-rooms.md"],
  ["interviewing candidates", "recruiting.md"],
  ["company contribution to pensions", "pension.md"],
  ["cafe geneve", "cafe-francais.md"],
  ["東京 営業時間", "tokyo.md"],
  ["返品", "tokyo.md"],
  ["hauptstrasse buro", "strasse.md"],
];
