/* A small database workload: transfers between accounts, each a transaction that must be durable when it returns.
   Usage: bank FILE TRANSACTIONS. Prints the seconds that they took; fails if the sum of all accounts is wrong. */
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include "sqlite3.h"

static sqlite3 *db;

static void run(const char *sql) {
  char *why = 0;
  if (sqlite3_exec(db, sql, 0, 0, &why) != SQLITE_OK) {
    fprintf(stderr, "%s: %s\n", sql, why);
    exit(1);
  }
}

int main(int argc, char **argv) {
  enum { ACCOUNTS = 1000 };
  char sql[200];
  struct timespec start, end;
  sqlite3_stmt *sum;
  int n, count;
  if (argc != 3 || sqlite3_open(argv[1], &db) != SQLITE_OK) return 1;
  count = atoi(argv[2]);
  run("PRAGMA synchronous = FULL; CREATE TABLE account (id INTEGER PRIMARY KEY, balance INTEGER, note TEXT); BEGIN");
  for (n = 0; n < ACCOUNTS; n++) {
    snprintf(sql, sizeof sql, "INSERT INTO account VALUES (%d, 100, 'opened with one hundred')", n);
    run(sql);
  }
  run("COMMIT");
  clock_gettime(CLOCK_MONOTONIC, &start);
  for (n = 0; n < count; n++) {
    snprintf(sql, sizeof sql, "BEGIN; UPDATE account SET balance = balance - 1 WHERE id = %d; "
      "UPDATE account SET balance = balance + 1 WHERE id = %d; COMMIT", n * 7 % ACCOUNTS, n * 13 % ACCOUNTS);
    run(sql);
  }
  clock_gettime(CLOCK_MONOTONIC, &end);
  if (sqlite3_prepare_v2(db, "SELECT sum(balance) FROM account", -1, &sum, 0) != SQLITE_OK) return 1;
  if (sqlite3_step(sum) != SQLITE_ROW || sqlite3_column_int(sum, 0) != ACCOUNTS * 100) return 1;
  sqlite3_finalize(sum);
  sqlite3_close(db);
  printf("%.6f\n", end.tv_sec - start.tv_sec + (end.tv_nsec - start.tv_nsec) / 1e9);
  return 0;
}
